#include "gateway/mcp/tools/stop_command.h"

#include <csignal>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_answer.h"
#include "gateway/mcp/tools/job_text.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/signal_name.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "End a running command with all of its processes, or the processes that a finished one left "
    "behind; or send them a signal.";

absl::StatusOr<int> SignalArgument(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<std::string> name, arguments.Text("signal"));
  if (!name || name->empty()) return SIGTERM;
  const std::optional<int> signal = SignalOf(*name);
  if (signal) return *signal;
  return absl::InvalidArgumentError(
      StrCat("There is no such signal here: give one of ", KnownSignals(), "."));
}

// Of a job that had ended before.
std::string EndedText(const v1::Job& job, const NamedJob& named, std::string_view label) {
  std::string text = StrCat("[sandbox ", label, "]");
  for (const std::string& field : EndFields(job)) AppendField(&text, field);
  AppendField(&text, StrCat("job ", named.id.hex()));
  if (job.left_behind() == 0) {
    AppendNote(&text, "it had ended already, with all of its processes");
  } else {
    AppendNote(&text, StrCat("it had ended already; the signal went to the ", job.left_behind(),
                             job.left_behind() == 1 ? " process" : " processes",
                             " that it had left behind"));
  }
  return text;
}

}  // namespace

ToolDescription StopCommand::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Stop a command";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["job"] = Property("string", kJobDescription);
  description.properties["signal"] =
      Property("string",
               "Left out, TERM, and KILL to what is left after two seconds. Any other is only "
               "sent: INT for what Ctrl and C do, HUP, USR1 …");
  description.required = {"sandbox"};
  description.destructive = true;
  description.idempotent = true;
  description.result_chars = ResultChars(services_.settings);
  return description;
}

Async<ToolResult> StopCommand::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "job", "signal"}));
  CO_ASSIGN_OR_RETURN(const int signal, SignalArgument(arguments));
  CO_ASSIGN_OR_RETURN(NamedJob named, co_await RequireJob(services_.agent, context, arguments));
  const bool ends = signal == SIGTERM || signal == SIGKILL;
  v1::SignalJobRequest request;
  *request.mutable_sandbox() = named.sandbox;
  request.set_job_id(named.id.bytes());
  request.set_signal(signal);
  if (ends) request.set_grace_ms(kStopGrace.count());
  const auto answer = co_await services_.agent.SignalJob(std::move(request));
  if (!answer.ok()) co_return ExplainJobError(answer.status());
  if (answer->job().state() == v1::Job::ENDED) {
    co_return ToolResult::Text(EndedText(answer->job(), named, context.sandbox));
  }
  const Arguments none((boost::json::object()));
  CO_ASSIGN_OR_RETURN(const JobOffset begin, OffsetOf(services_, context, named, none));
  auto more = AwaitMore(services_, context, std::move(named), begin, ends ? kStopWait : kSignalWait,
                        std::string());
  co_return co_await std::move(more);
}

}  // namespace sandkeep::mcp
