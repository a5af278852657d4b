#include "gateway/mcp/calls.h"

#include <boost/json/serialize.hpp>
#include <exception>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/catalog.h"
#include "gateway/mcp/task_source.h"
#include "gateway/mcp/tool_error.h"
#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

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

std::string Whole(const MethodResult& result, Era era) {
  std::string all = StrCat("{", result.members);
  if (era == Era::kModern) {
    if (!result.members.empty()) all += ",";
    if (result.ttl_ms.has_value()) all += CacheMembers(*result.ttl_ms);
    all += ModernMembers();
  }
  return all + "}";
}

}  // namespace

absl::StatusOr<Calls::Round> Calls::RoundOf(const Message& message, Era era,
                                            std::string_view bound_to) const {
  Round round;
  if (era != Era::kModern) return round;
  const json::value* answers = message.params.if_contains("inputResponses");
  if (answers != nullptr && answers->is_object()) round.answers = answers->get_object();
  const json::string* sealed = TextIn(message.params, "requestState");
  if (sealed == nullptr) return round;
  ASSIGN_OR_RETURN(round.state, seal_.Open(bound_to, *sealed));
  return round;
}

CallContext Calls::ContextOf(const Request& request, Message& message, Era era, Round round,
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

Answer Calls::Ask(const CallContext& context, const Message& message, const Questions& questions,
                  std::string_view bound_to) const {
  if (context.era != Era::kModern) {
    const RpcError error{.code = kInvalidRequest,
                         .message = StrCat("This call asks its client something, for which it "
                                           "needs protocol version ",
                                           kModernVersion, "."),
                         .data = {}};
    return ErrorTo(message, error);
  }
  if (const auto error = MissingCapability(questions, DeclaredIn(context.meta))) {
    return ErrorTo(message, *error, Disposition::kBadRequest);
  }
  std::string result = StrCat(R"({"inputRequests":)", json::serialize(questions.requests));
  if (!questions.state.empty()) {
    StrAppend(&result, R"(,"requestState":")", seal_.Close(bound_to, questions.state), "\"");
  }
  StrAppend(&result, ",", AskingMembers(), "}");
  return ResultOf(message, result);
}

awaitable<Answer> Calls::CallTool(const Request& request, EventSink& events, Message& message,
                                  const Route& route) {
  const json::string* name = TextIn(message.params, "name");
  if (name == nullptr) co_return ErrorTo(message, BadParams("params.name must be a string."));
  Tool* tool = co_await toolbox_.Named(*name, message.params);
  if (tool == nullptr) {
    constexpr std::size_t kShownBytes = 100;
    co_return ErrorTo(message,
                      BadParams(StrCat("Unknown tool '", Utf8Head(*name, kShownBytes), "'.")));
  }
  json::value* given = message.params.if_contains("arguments");
  json::object values;
  if (given != nullptr && given->is_object()) values = std::move(given->get_object());
  if (given != nullptr && !given->is_object() && !given->is_null()) {
    co_return ErrorTo(message, BadParams("params.arguments must be an object."));
  }
  const std::string bound_to = BoundTo(request, message);
  absl::StatusOr<Round> round = RoundOf(message, route.era, bound_to);
  if (!round.ok()) co_return ErrorTo(message, ErrorOf(round.status()));
  json::object meta = MetaOf(message);
  Progress progress(events, ProgressToken(meta));
  CallContext context =
      ContextOf(request, message, route.era, *std::move(round), std::move(meta), progress, events);
  Arguments arguments(std::move(values));
  const ToolResult result = co_await Run(*tool, context, std::move(arguments));
  if (result.questions.has_value()) co_return Ask(context, message, *result.questions, bound_to);
  if (result.task.has_value()) {
    co_return ResultOf(message,
                       StrCat("{", TaskMembers(*result.task), ",", TaskResultMembers(), "}"));
  }
  // Blocks of links are unknown before 2025-06-18.
  const bool with_links = route.version != kUnnamedVersion;
  std::string members = StrCat("{", ContentMembers(result, with_links));
  if (route.era == Era::kModern) StrAppend(&members, ",", ModernMembers());
  members += "}";
  co_return ResultOf(message, members);
}

awaitable<ToolResult> Calls::Run(Tool& tool, CallContext& context, Arguments arguments) {
  absl::StatusOr<ToolResult> result = absl::InternalError("no result");
  try {
    result = co_await tool.Call(context, std::move(arguments));
  } catch (const std::exception& e) {
    Log(Severity::kError, "tool.failed", {{"tool", tool.name()}, {"what", e.what()}});
  }
  if (result.ok()) co_return *std::move(result);
  co_return ErrorResult(context.sandbox, result.status());
}

awaitable<Answer> Calls::CallMethod(Method& method, const Request& request, EventSink& events,
                                    Message& message, const Route& route) {
  const std::string bound_to = BoundTo(request, message);
  absl::StatusOr<Round> round = RoundOf(message, route.era, bound_to);
  if (!round.ok()) co_return ErrorTo(message, ErrorOf(round.status()));
  json::object meta = MetaOf(message);
  Progress progress(events, ProgressToken(meta));
  CallContext context =
      ContextOf(request, message, route.era, *std::move(round), std::move(meta), progress, events);
  MethodAnswer answer = ErrorOf(absl::InternalError("no result"));
  try {
    answer = co_await method.Call(context, std::move(message.params));
  } catch (const std::exception& e) {
    Log(Severity::kError, "method.failed", {{"method", method.name()}, {"what", e.what()}});
  }
  if (const auto* error = std::get_if<RpcError>(&answer)) {
    const bool refused = error->code == kMissingClientCapability;
    co_return ErrorTo(message, *error, refused ? Disposition::kBadRequest : Disposition::kOk);
  }
  const MethodResult& result = std::get<MethodResult>(answer);
  if (result.questions.has_value()) co_return Ask(context, message, *result.questions, bound_to);
  co_return ResultOf(message, Whole(result, route.era));
}

awaitable<void> Calls::Cancel(const Request& request, const Message& message) {
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

}  // namespace sandkeep::mcp
