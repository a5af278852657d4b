#include "gateway/mcp/endpoint.h"

#include <boost/asio/this_coro.hpp>
#include <boost/json/serialize.hpp>
#include <exception>
#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/call_context.h"
#include "gateway/mcp/catalog.h"
#include "gateway/mcp/completion.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/registry.h"
#include "gateway/mcp/running_calls.h"
#include "gateway/mcp/task_source.h"
#include "gateway/mcp/tool_error.h"
#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/job_tasks.h"
#include "gateway/mcp/tools/toolbox.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// One message's answer. Empty: a notification, which has none.
struct Answer {
  Disposition disposition = Disposition::kOk;
  std::string body;
  std::string session = {};
};

// What a call that is made again brings along from the round before.
struct Round {
  json::object answers;
  std::string state;
};

Answer Result(const Message& message, std::string_view result) {
  return Answer{.disposition = Disposition::kOk, .body = ResultBody(message.id, result)};
}

Answer Error(const Message& message, const RpcError& error,
             Disposition disposition = Disposition::kOk) {
  return Answer{.disposition = disposition, .body = ErrorBody(message.id, error)};
}

Answer NoSuchMethod(const Message& message, Era era) {
  constexpr std::size_t kShownBytes = 100;
  const bool modern = era == Era::kModern;
  const RpcError error{
      .code = kMethodNotFound,
      .message = StrCat("Method '", Utf8Head(message.method, kShownBytes), "' doesn't exist here."),
      .data = {}};
  return Error(message, error, modern ? Disposition::kNotFound : Disposition::kOk);
}

// Clients send an empty one for the first page.
bool HasCursor(const Message& message) {
  const json::value* cursor = message.params.if_contains("cursor");
  if (cursor == nullptr || cursor->is_null()) return false;
  return !cursor->is_string() || !cursor->get_string().empty();
}

json::object MetaOf(Message& message) {
  json::value* meta = message.params.if_contains("_meta");
  return meta == nullptr || !meta->is_object() ? json::object() : std::move(meta->get_object());
}

// As JSON text; empty: the client wants no progress.
std::string ProgressToken(const json::object& meta) {
  const json::value* token = meta.if_contains("progressToken");
  if (token == nullptr || !(token->is_string() || token->is_int64() || token->is_uint64())) {
    return {};
  }
  std::string text = json::serialize(*token);
  return text.size() <= kMaxRequestIdBytes ? text : std::string();
}

// Whose state is good for what.
std::string BoundTo(const Request& request, const Message& message) {
  const json::string* name = TextIn(message.params, "name");
  if (name == nullptr) name = TextIn(message.params, "uri");
  return StrCat(request.caller.principal.text(), " ", message.method, " ",
                name == nullptr ? std::string_view() : std::string_view(*name));
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
      : agent_(agent),
        random_(random),
        settings_(WithDefaults(std::move(settings))),
        seal_(random, clock),
        registry_(std::move(registry)),
        host_(agent, clock),
        jobs_{agent, links, clock, random, host_, positions_, settings_},
        toolbox_(jobs_, std::move(registry_.tools)) {
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
      co_return Error(message, *error, Disposition::kBadRequest);
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
      const HostInfo host = co_await host_.Known();
      co_return Handshake(message, host.get());
    }
    if (!modern && message.method == "ping") co_return Result(message, "{}");
    for (const std::unique_ptr<Method>& method : registry_.methods) {
      if (method->name() != message.method || !method->ServedIn(route.era)) continue;
      co_return co_await CallMethod(*method, request, events, message, route);
    }
    co_return NoSuchMethod(message, route.era);
  }

  // The session's name is neither signed nor kept: it opens nothing, and only tells apart calls of
  // one principal. So one of an earlier gateway serves as well, and nobody has to begin anew.
  Answer Handshake(const Message& message, const agent::v1::Info* host) {
    Answer answer =
        Result(message, Catalog::Handshake(NegotiatedVersion(message), legacy_capabilities_, host));
    answer.session = absl::BytesToHexString(random_.Bytes(16));
    return answer;
  }

  awaitable<Answer> ListTools(const Message& message, Era era) {
    if (HasCursor(message)) {
      co_return Error(message, BadParams("The list has one page: there is no such cursor."));
    }
    const std::shared_ptr<const Catalog> catalog = co_await CurrentCatalog();
    co_return Result(message, era == Era::kModern ? catalog->modern_tools : catalog->legacy_tools);
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

  // InvalidArgument: the state is none of ours.
  absl::StatusOr<Round> RoundOf(const Message& message, Era era, std::string_view bound_to) const {
    Round round;
    if (era != Era::kModern) return round;
    const json::value* answers = message.params.if_contains("inputResponses");
    if (answers != nullptr && answers->is_object()) round.answers = answers->get_object();
    const json::string* sealed = TextIn(message.params, "requestState");
    if (sealed == nullptr) return round;
    ASSIGN_OR_RETURN(round.state, seal_.Open(bound_to, *sealed));
    return round;
  }

  CallContext ContextOf(const Request& request, Message& message, Era era, Round round,
                        json::object meta, Progress& progress, EventSink& events) {
    return {.request = request,
            .era = era,
            .request_id = message.id,
            .meta = std::move(meta),
            .running_calls = running_calls_,
            .progress = progress,
            .events = events,
            .answers = std::move(round.answers),
            .state = std::move(round.state),
            .persistent = IsPersistent(host_.Last().get())};
  }

  Answer Ask(const CallContext& context, const Message& message, const Questions& questions,
             std::string_view bound_to) const {
    if (context.era != Era::kModern) {
      const RpcError error{.code = kInvalidRequest,
                           .message = StrCat("This call asks its client something, for which it "
                                             "needs protocol version ",
                                             kModernVersion, "."),
                           .data = {}};
      return Error(message, error);
    }
    if (const auto error = MissingCapability(questions, DeclaredIn(context.meta))) {
      return Error(message, *error, Disposition::kBadRequest);
    }
    std::string result = StrCat(R"({"inputRequests":)", json::serialize(questions.requests));
    if (!questions.state.empty()) {
      StrAppend(&result, R"(,"requestState":")", seal_.Close(bound_to, questions.state), "\"");
    }
    StrAppend(&result, ",", AskingMembers(), "}");
    return Result(message, result);
  }

  awaitable<Answer> CallTool(const Request& request, EventSink& events, Message& message,
                             const Route& route) {
    const json::string* name = TextIn(message.params, "name");
    if (name == nullptr) co_return Error(message, BadParams("params.name must be a string."));
    Tool* tool = co_await toolbox_.Named(*name, message.params);
    if (tool == nullptr) {
      constexpr std::size_t kShownBytes = 100;
      co_return Error(message,
                      BadParams(StrCat("Unknown tool '", Utf8Head(*name, kShownBytes), "'.")));
    }
    json::value* given = message.params.if_contains("arguments");
    json::object values;
    if (given != nullptr && given->is_object()) values = std::move(given->get_object());
    if (given != nullptr && !given->is_object() && !given->is_null()) {
      co_return Error(message, BadParams("params.arguments must be an object."));
    }
    const std::string bound_to = BoundTo(request, message);
    absl::StatusOr<Round> round = RoundOf(message, route.era, bound_to);
    if (!round.ok()) co_return Error(message, ErrorOf(round.status()));
    json::object meta = MetaOf(message);
    Progress progress(events, ProgressToken(meta));
    CallContext context = ContextOf(request, message, route.era, *std::move(round), std::move(meta),
                                    progress, events);
    Arguments arguments(std::move(values));
    const ToolResult result = co_await Run(*tool, context, std::move(arguments));
    if (result.questions.has_value()) co_return Ask(context, message, *result.questions, bound_to);
    if (result.task.has_value()) {
      co_return Result(message,
                       StrCat("{", TaskMembers(*result.task), ",", TaskResultMembers(), "}"));
    }
    // Blocks of links are unknown before 2025-06-18.
    const bool with_links = route.version != kUnnamedVersion;
    std::string members = StrCat("{", ContentMembers(result, with_links));
    if (route.era == Era::kModern) StrAppend(&members, ",", ModernMembers());
    members += "}";
    co_return Result(message, members);
  }

  awaitable<ToolResult> Run(Tool& tool, CallContext& context, Arguments arguments) {
    absl::StatusOr<ToolResult> result = absl::InternalError("no result");
    try {
      result = co_await tool.Call(context, std::move(arguments));
    } catch (const std::exception& e) {
      Log(Severity::kError, "tool.failed", {{"tool", tool.name()}, {"what", e.what()}});
    }
    if (result.ok()) co_return *std::move(result);
    co_return ErrorResult(context.sandbox, result.status());
  }

  awaitable<Answer> CallMethod(Method& method, const Request& request, EventSink& events,
                               Message& message, const Route& route) {
    const std::string bound_to = BoundTo(request, message);
    absl::StatusOr<Round> round = RoundOf(message, route.era, bound_to);
    if (!round.ok()) co_return Error(message, ErrorOf(round.status()));
    json::object meta = MetaOf(message);
    Progress progress(events, ProgressToken(meta));
    CallContext context = ContextOf(request, message, route.era, *std::move(round), std::move(meta),
                                    progress, events);
    MethodAnswer answer = ErrorOf(absl::InternalError("no result"));
    try {
      answer = co_await method.Call(context, std::move(message.params));
    } catch (const std::exception& e) {
      Log(Severity::kError, "method.failed", {{"method", method.name()}, {"what", e.what()}});
    }
    if (const auto* error = std::get_if<RpcError>(&answer)) {
      const bool refused = error->code == kMissingClientCapability;
      co_return Error(message, *error, refused ? Disposition::kBadRequest : Disposition::kOk);
    }
    const MethodResult& result = std::get<MethodResult>(answer);
    if (result.questions.has_value()) co_return Ask(context, message, *result.questions, bound_to);
    co_return Result(message, Whole(result, route.era));
  }

  static std::string Whole(const MethodResult& result, Era era) {
    std::string all = StrCat("{", result.members);
    if (era == Era::kModern) {
      if (!result.members.empty()) all += ",";
      if (result.ttl_ms.has_value()) all += CacheMembers(*result.ttl_ms);
      all += ModernMembers();
    }
    return all + "}";
  }

  // Of an older revision's call. Its answer comes when the job has ended.
  awaitable<void> Cancel(const Request& request, const Message& message) {
    const json::value* id = message.params.if_contains("requestId");
    if (id == nullptr) co_return;
    const std::shared_ptr<RunningJob> job =
        running_calls_.Find(request.caller.principal, request.session, json::serialize(*id));
    if (job == nullptr) co_return;
    job->cancelled = true;
    const absl::Status stopped = co_await StopJob(agent_, *job, kCancelGrace.count());
    // NotFound: it hasn't started yet; whoever starts it sees `cancelled`.
    if (!stopped.ok() && !absl::IsNotFound(stopped)) {
      Log(Severity::kWarning, "job.stop_failed", {{"why", stopped}});
    }
  }

  AgentClient& agent_;
  Random& random_;
  EndpointSettings settings_;
  const StateSeal seal_;
  Registry registry_;
  std::string modern_capabilities_;
  std::string legacy_capabilities_;
  Host host_;
  RunningCalls running_calls_;
  JobPositions positions_;
  const JobServices jobs_;
  Toolbox toolbox_;

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
