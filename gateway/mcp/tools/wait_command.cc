#include "gateway/mcp/tools/wait_command.h"

#include <memory>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_answer.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kWhat =
    "Wait for a command that run_command handed back as [running]: returns what it has printed "
    "since, and its exit code once it has ended. Ask again as long as it runs.";

}  // namespace

ToolDescription WaitCommand::Describe(const agent::v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Wait for a command";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["job"] = Property("string", kJobDescription);
  description.properties["wait_seconds"] =
      IntegerProperty(0, StrCat("Seconds to wait for its end, ", kDefaultWait.count(),
                                " if left out, at most ", kMaxWait.count(), "; 0 only looks."));
  description.properties["offset"] = IntegerProperty(0, kOffsetDescription);
  description.required = {"sandbox"};
  description.read_only = true;
  description.result_chars = ResultChars(services_.settings);
  return description;
}

Async<ToolResult> WaitCommand::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "job", "wait_seconds", "offset"}));
  CO_ASSIGN_OR_RETURN(Wait wait, WaitOf(arguments));
  CO_ASSIGN_OR_RETURN(const NamedJob named,
                      co_await RequireJob(services_.agent, context, arguments));
  CO_ASSIGN_OR_RETURN(const JobOffset begin, OffsetOf(services_, context, named, arguments));
  const auto job = std::make_shared<RunningJob>();
  job->sandbox = named.sandbox;
  job->job_id = named.id.bytes();
  JobRun run(services_.agent, job, context.progress,
             {.max_output_bytes = services_.settings.max_output_bytes,
              .from = begin.offset,
              .wait = wait.span,
              .end_on_disconnect = false});
  const absl::Status followed = co_await run.Watch();
  if (!followed.ok()) co_return ExplainJobError(followed);
  AnswerOptions options;
  options.ends = begin.ends;
  // Another gateway may have started it.
  if (!options.ends && !run.view().outcome) options.ends = co_await run.AskDeadline();
  options.notes = {std::move(wait.note), std::string(begin.note)};
  co_return co_await AnswerOf(services_, context, named, run, std::move(options));
}

}  // namespace sandkeep::mcp
