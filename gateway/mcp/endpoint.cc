#include "gateway/mcp/endpoint.h"

#include <boost/asio/this_coro.hpp>
#include <boost/json/serialize.hpp>
#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/answer.h"
#include "gateway/mcp/calls.h"
#include "gateway/mcp/catalog.h"
#include "gateway/mcp/completion.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/registry.h"
#include "gateway/mcp/task_source.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/job_tasks.h"
#include "gateway/mcp/tools/toolbox.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

Answer NoSuchMethod(const Message& message, Era era) {
  constexpr std::size_t kShownBytes = 100;
  const bool modern = era == Era::kModern;
  const RpcError error{
      .code = kMethodNotFound,
      .message = StrCat("Method '", Utf8Head(message.method, kShownBytes), "' doesn't exist here."),
      .data = {}};
  return ErrorTo(message, error, modern ? Disposition::kNotFound : Disposition::kOk);
}

// Clients send an empty one for the first page.
bool HasCursor(const Message& message) {
  const json::value* cursor = message.params.if_contains("cursor");
  if (cursor == nullptr || cursor->is_null()) return false;
  return !cursor->is_string() || !cursor->get_string().empty();
}

// What this server has, as clients are told: JSON.
std::string CapabilitiesOf(const Registry& registry, const json::object& more) {
  json::object all;
  all["tools"] = json::object();
  if (!registry.resources.empty()) all["resources"] = json::object();
  if (!registry.prompts.empty()) all["prompts"] = json::object();
  if (AnyCompletes(registry.prompts, registry.resources)) all["completions"] = json::object();
  for (const auto& one : more) all[one.key()] = one.value();
  return json::serialize(all);
}

std::string_view NegotiatedVersion(const Message& message) {
  const json::value* asked = message.params.if_contains("protocolVersion");
  if (asked == nullptr || !asked->is_string()) return kLegacyVersions.front();
  for (const std::string_view version : kLegacyVersions) {
    if (std::string_view(asked->get_string()) == version) return version;
  }
  return kLegacyVersions.front();
}

class RealEndpoint : public Endpoint {
 public:
  RealEndpoint(AgentClient& agent, LinkMaker& links, Clock& clock, Random& random,
               EndpointSettings settings, Registry registry)
      : random_(random),
        settings_(WithDefaults(std::move(settings))),
        registry_(std::move(registry)),
        host_(agent, clock),
        jobs_{agent, links, clock, random, host_, positions_, settings_},
        toolbox_(jobs_, std::move(registry_.tools)),
        calls_(agent, host_, toolbox_, random, clock) {
    registry_.tasks.push_back(std::make_unique<JobTasks>(jobs_));
    AddMethods();
    json::object extensions;
    extensions[json::string_view(kTasksExtension)] = json::object();
    registry_.modern_capabilities["extensions"] = std::move(extensions);
    modern_capabilities_ = CapabilitiesOf(registry_, registry_.modern_capabilities);
    legacy_capabilities_ = CapabilitiesOf(registry_, registry_.legacy_capabilities);
  }

  awaitable<Reply> Handle(Request request, EventSink& events) override {
    // From here on a cancelled wait is a value and no exception.
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    auto parsed = ParseBody(request.body);
    request.body = std::string();
    if (const auto* malformed = std::get_if<Malformed>(&parsed)) {
      co_return Reply{.disposition = Disposition::kBadRequest,
                      .body = ErrorBody(malformed->id, malformed->error)};
    }
    Incoming& incoming = std::get<Incoming>(parsed);
    if (incoming.batch) co_return co_await HandleBatch(request, events, incoming.messages);
    Answer answer = co_await HandleOne(request, events, incoming.messages.front());
    co_return ReplyOf(std::move(answer));
  }

 private:
  static EndpointSettings WithDefaults(EndpointSettings settings) {
    if (!settings.mime_type_of) {
      settings.mime_type_of = [](std::string_view) { return "application/octet-stream"; };
    }
    return settings;
  }

  void AddMethods() {
    if (!registry_.resources.empty()) AddResourceMethods(registry_.resources, &registry_.methods);
    if (!registry_.prompts.empty()) AddPromptMethods(registry_.prompts, &registry_.methods);
    if (AnyCompletes(registry_.prompts, registry_.resources)) {
      AddCompletionMethod(registry_.prompts, registry_.resources, &registry_.methods);
    }
    AddTaskMethods(registry_.tasks, &registry_.methods);
  }

  static Reply ReplyOf(Answer answer) {
    const bool answered = !answer.body.empty();
    return Reply{.disposition = answered ? answer.disposition : Disposition::kAccepted,
                 .body = std::move(answer.body),
                 .session = std::move(answer.session)};
  }

  awaitable<Reply> HandleBatch(const Request& request, EventSink& events,
                               std::vector<Message>& messages) {
    const Classified classified = ClassifyBatch(request, messages);
    if (const auto* error = std::get_if<RpcError>(&classified)) {
      co_return Reply{.disposition = Disposition::kBadRequest, .body = ErrorBody({}, *error)};
    }
    std::vector<std::string> bodies;
    for (Message& message : messages) {
      Answer answer = co_await Dispatch(request, events, message, std::get<Route>(classified));
      if (!answer.body.empty()) bodies.push_back(std::move(answer.body));
    }
    Answer all;
    if (!bodies.empty()) all.body = BatchBody(bodies);
    co_return ReplyOf(std::move(all));
  }

  awaitable<Answer> HandleOne(const Request& request, EventSink& events, Message& message) {
    const Classified classified = Classify(request, message);
    if (const auto* error = std::get_if<RpcError>(&classified)) {
      co_return ErrorTo(message, *error, Disposition::kBadRequest);
    }
    co_return co_await Dispatch(request, events, message, std::get<Route>(classified));
  }

  awaitable<Answer> Dispatch(const Request& request, EventSink& events, Message& message,
                             const Route& route) {
    if (message.kind == Message::Kind::kResponse) co_return Answer{};
    if (message.kind == Message::Kind::kNotification) {
      if (message.method == "notifications/cancelled") co_await calls_.Cancel(request, message);
      co_return Answer{};
    }
    const bool modern = route.era == Era::kModern;
    if (message.method == "tools/call")
      co_return co_await calls_.CallTool(request, events, message, route);
    if (message.method == "tools/list") co_return co_await ListTools(message, route.era);
    if (modern && message.method == "server/discover") {
      const std::shared_ptr<const Catalog> catalog = co_await CurrentCatalog();
      co_return ResultOf(message, catalog->discovery);
    }
    if (!modern && message.method == "initialize") {
      const HostInfo host = co_await host_.Known();
      co_return Handshake(message, host.get());
    }
    if (!modern && message.method == "ping") co_return ResultOf(message, "{}");
    for (const std::unique_ptr<Method>& method : registry_.methods) {
      if (method->name() != message.method || !method->ServedIn(route.era)) continue;
      co_return co_await calls_.CallMethod(*method, request, events, message, route);
    }
    co_return NoSuchMethod(message, route.era);
  }

  // The session's name is neither signed nor kept: it opens nothing, and only tells apart calls of
  // one principal. So one of an earlier gateway serves as well, and nobody has to begin anew.
  Answer Handshake(const Message& message, const agent::v1::Info* host) {
    Answer answer = ResultOf(
        message, Catalog::Handshake(NegotiatedVersion(message), legacy_capabilities_, host));
    answer.session = absl::BytesToHexString(random_.Bytes(16));
    return answer;
  }

  awaitable<Answer> ListTools(const Message& message, Era era) {
    if (HasCursor(message)) {
      co_return ErrorTo(message, BadParams("The list has one page: there is no such cursor."));
    }
    const std::shared_ptr<const Catalog> catalog = co_await CurrentCatalog();
    co_return ResultOf(message,
                       era == Era::kModern ? catalog->modern_tools : catalog->legacy_tools);
  }

  // Made anew when the host's facts are.
  awaitable<std::shared_ptr<const Catalog>> CurrentCatalog() {
    HostInfo info = co_await host_.Known();
    const std::lock_guard lock(catalog_mutex_);
    if (catalog_ == nullptr || catalog_of_ != info) {
      catalog_ = std::make_shared<const Catalog>(
          MakeCatalog(toolbox_.Of(info), info.get(), modern_capabilities_));
      catalog_of_ = std::move(info);
    }
    co_return catalog_;
  }

  Random& random_;
  EndpointSettings settings_;
  Registry registry_;
  std::string modern_capabilities_;
  std::string legacy_capabilities_;
  Host host_;
  JobPositions positions_;
  const JobServices jobs_;
  Toolbox toolbox_;
  Calls calls_;

  std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> catalog_;
  HostInfo catalog_of_;
};

}  // namespace

std::unique_ptr<Endpoint> MakeEndpoint(AgentClient& agent, LinkMaker& links, Clock& clock,
                                       Random& random, EndpointSettings settings) {
  return MakeEndpoint(agent, links, clock, random, std::move(settings), Registry());
}

std::unique_ptr<Endpoint> MakeEndpoint(AgentClient& agent, LinkMaker& links, Clock& clock,
                                       Random& random, EndpointSettings settings,
                                       Registry registry) {
  return std::make_unique<RealEndpoint>(agent, links, clock, random, std::move(settings),
                                        std::move(registry));
}

}  // namespace sandkeep::mcp
