#include "gateway/mcp/endpoint.h"

#include <boost/asio/this_coro.hpp>
#include <boost/json/serialize.hpp>
#include <exception>
#include <mutex>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/catalog.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/running_calls.h"
#include "gateway/mcp/tool_error.h"
#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/present_file.h"
#include "gateway/mcp/tools/read_output.h"
#include "gateway/mcp/tools/run_command.h"
#include "gateway/mcp/tools/sandbox_info.h"
#include "gateway/mcp/tools/send_input.h"
#include "gateway/mcp/tools/stop_command.h"
#include "gateway/mcp/tools/wait_command.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// One message's answer. Empty: a notification, which has none.
struct Answer {
  Disposition disposition = Disposition::kOk;
  std::string body;
};

Answer Result(const Message& message, std::string_view result) {
  return Answer{.disposition = Disposition::kOk, .body = ResultBody(message.id, result)};
}

Answer Error(Disposition disposition, const Message& message, int code, std::string text) {
  const RpcError error{.code = code, .message = std::move(text), .data = {}};
  return Answer{.disposition = disposition, .body = ErrorBody(message.id, error)};
}

Answer NoSuchMethod(const Message& message, Era era) {
  constexpr std::size_t kShownBytes = 100;
  const bool modern = era == Era::kModern;
  return Error(modern ? Disposition::kNotFound : Disposition::kOk, message, kMethodNotFound,
               StrCat("Method '", Utf8Head(message.method, kShownBytes), "' doesn't exist here."));
}

// Clients send an empty one for the first page.
bool HasCursor(const Message& message) {
  const json::value* cursor = message.params.if_contains("cursor");
  if (cursor == nullptr || cursor->is_null()) return false;
  return !cursor->is_string() || !cursor->get_string().empty();
}

// As JSON text; empty: the client wants no progress.
std::string ProgressToken(const Message& message) {
  const json::value* meta = message.params.if_contains("_meta");
  if (meta == nullptr || !meta->is_object()) return {};
  const json::value* token = meta->get_object().if_contains("progressToken");
  if (token == nullptr || !(token->is_string() || token->is_int64() || token->is_uint64())) {
    return {};
  }
  std::string text = json::serialize(*token);
  return text.size() <= kMaxRequestIdBytes ? text : std::string();
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
               EndpointSettings settings)
      : agent_(agent),
        settings_(std::move(settings)),
        host_(agent, clock),
        jobs_{agent, links, clock, random, host_, positions_, settings_} {
    if (!settings_.mime_type_of) {
      settings_.mime_type_of = [](std::string_view) { return "application/octet-stream"; };
    }
    // In the order in which they are listed.
    tools_.push_back(std::make_unique<RunCommand>(jobs_));
    tools_.push_back(std::make_unique<WaitCommand>(jobs_));
    tools_.push_back(std::make_unique<ReadOutput>(jobs_));
    tools_.push_back(std::make_unique<SendInput>(jobs_));
    tools_.push_back(std::make_unique<StopCommand>(jobs_));
    tools_.push_back(std::make_unique<PresentFile>(agent, links, settings_));
    tools_.push_back(std::make_unique<SandboxInfo>(agent, clock, host_, settings_));
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
  static Reply ReplyOf(Answer answer) {
    const bool answered = !answer.body.empty();
    return Reply{.disposition = answered ? answer.disposition : Disposition::kAccepted,
                 .body = std::move(answer.body)};
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
      co_return Answer{.disposition = Disposition::kBadRequest,
                       .body = ErrorBody(message.id, *error)};
    }
    co_return co_await Dispatch(request, events, message, std::get<Route>(classified));
  }

  awaitable<Answer> Dispatch(const Request& request, EventSink& events, Message& message,
                             const Route& route) {
    if (message.kind == Message::Kind::kResponse) co_return Answer{};
    if (message.kind == Message::Kind::kNotification) {
      if (message.method == "notifications/cancelled") co_await Cancel(request, message);
      co_return Answer{};
    }
    const bool modern = route.era == Era::kModern;
    if (message.method == "tools/call")
      co_return co_await CallTool(request, events, message, route);
    if (message.method == "tools/list") co_return co_await ListTools(message, route.era);
    if (modern && message.method == "server/discover") {
      const std::shared_ptr<const Catalog> catalog = co_await CurrentCatalog();
      co_return Result(message, catalog->discovery);
    }
    if (!modern && message.method == "initialize") {
      co_return Result(message, Catalog::Handshake(NegotiatedVersion(message)));
    }
    if (!modern && message.method == "ping") co_return Result(message, "{}");
    co_return NoSuchMethod(message, route.era);
  }

  awaitable<Answer> ListTools(const Message& message, Era era) {
    if (HasCursor(message)) {
      co_return Error(Disposition::kOk, message, kInvalidParams,
                      "The list has one page: there is no such cursor.");
    }
    const std::shared_ptr<const Catalog> catalog = co_await CurrentCatalog();
    co_return Result(message, era == Era::kModern ? catalog->modern_tools : catalog->legacy_tools);
  }

  // Made anew when the host's facts are.
  awaitable<std::shared_ptr<const Catalog>> CurrentCatalog() {
    HostInfo info = co_await host_.Known();
    const std::lock_guard lock(catalog_mutex_);
    if (catalog_ == nullptr || catalog_of_ != info) {
      catalog_ = std::make_shared<const Catalog>(MakeCatalog(tools_, info.get()));
      catalog_of_ = std::move(info);
    }
    co_return catalog_;
  }

  Tool* FindTool(std::string_view name) const {
    for (const std::unique_ptr<Tool>& tool : tools_) {
      if (tool->name() == name) return tool.get();
    }
    return nullptr;
  }

  awaitable<Answer> CallTool(const Request& request, EventSink& events, Message& message,
                             const Route& route) {
    const json::value* name = message.params.if_contains("name");
    if (name == nullptr || !name->is_string()) {
      co_return Error(Disposition::kOk, message, kInvalidParams, "params.name must be a string.");
    }
    Tool* tool = FindTool(name->get_string());
    if (tool == nullptr) {
      constexpr std::size_t kShownBytes = 100;
      co_return Error(Disposition::kOk, message, kInvalidParams,
                      StrCat("Unknown tool '", Utf8Head(name->get_string(), kShownBytes), "'."));
    }
    json::value* given = message.params.if_contains("arguments");
    json::object values;
    if (given != nullptr && given->is_object()) values = std::move(given->get_object());
    if (given != nullptr && !given->is_object() && !given->is_null()) {
      co_return Error(Disposition::kOk, message, kInvalidParams,
                      "params.arguments must be an object.");
    }
    Arguments arguments(std::move(values));
    Progress progress(events, ProgressToken(message));
    const ToolResult result =
        co_await Run(*tool, request, message.id, route.era, progress, std::move(arguments));
    // Blocks of links are unknown before 2025-06-18.
    const bool with_links = route.version != kUnnamedVersion;
    std::string members = StrCat("{", ContentMembers(result, with_links));
    if (route.era == Era::kModern) StrAppend(&members, ",", ModernMembers());
    members += "}";
    co_return Result(message, members);
  }

  awaitable<ToolResult> Run(Tool& tool, const Request& request, std::string id, Era era,
                            Progress& progress, Arguments arguments) {
    CallContext context{.request = request,
                        .era = era,
                        .request_id = std::move(id),
                        .running_calls = running_calls_,
                        .progress = progress,
                        .sandbox = {}};
    absl::StatusOr<ToolResult> result = absl::InternalError("no result");
    try {
      result = co_await tool.Call(context, std::move(arguments));
    } catch (const std::exception& e) {
      Log(Severity::kError, "tool.failed", {{"tool", tool.name()}, {"what", e.what()}});
    }
    if (result.ok()) co_return *std::move(result);
    co_return ErrorResult(context.sandbox, result.status());
  }

  // Of an older revision's call. Its answer comes when the job has ended.
  awaitable<void> Cancel(const Request& request, const Message& message) {
    const json::value* id = message.params.if_contains("requestId");
    if (id == nullptr) co_return;
    const std::shared_ptr<RunningJob> job =
        running_calls_.Find(request.caller.principal, json::serialize(*id));
    if (job == nullptr) co_return;
    job->cancelled = true;
    const absl::Status stopped = co_await StopJob(agent_, *job, kCancelGrace.count());
    // NotFound: it hasn't started yet; whoever starts it sees `cancelled`.
    if (!stopped.ok() && !absl::IsNotFound(stopped)) {
      Log(Severity::kWarning, "job.stop_failed", {{"why", stopped}});
    }
  }

  AgentClient& agent_;
  EndpointSettings settings_;
  Host host_;
  RunningCalls running_calls_;
  JobPositions positions_;
  const JobServices jobs_;
  Tools tools_;

  std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> catalog_;
  HostInfo catalog_of_;
};

}  // namespace

std::unique_ptr<Endpoint> MakeEndpoint(AgentClient& agent, LinkMaker& links, Clock& clock,
                                       Random& random, EndpointSettings settings) {
  return std::make_unique<RealEndpoint>(agent, links, clock, random, std::move(settings));
}

}  // namespace sandkeep::mcp
