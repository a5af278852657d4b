#include "gateway/mcp/tools/job_answer.h"

#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_text.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kRunsOn =
    "it runs on: wait_command with this job waits for more, stop_command ends it";
constexpr std::string_view kUnstarted =
    "the sandbox is still being made and the command starts as soon as it is: go on with "
    "wait_command; if the job stays unknown there, run the command again";

}  // namespace

Async<ToolResult> AnswerOf(const JobServices& services, CallContext& context, const NamedJob& job,
                           const JobRun& run, AnswerOptions options) {
  const JobView& view = run.view();
  if (view.started) context.sandbox = view.started->sandbox().label();
  JobTextOptions text{.label = context.sandbox,
                      .job_id = job.id.hex(),
                      .link = {},
                      .ends = options.ends,
                      .timeout_given = options.timeout_given,
                      .notes = std::move(options.notes)};
  if (run.unstarted()) {
    text.notes.emplace_back(kUnstarted);
  } else if (!view.outcome) {
    text.notes.emplace_back(kRunsOn);
  }
  const v1::Sandbox sandbox = view.started ? view.started->sandbox() : v1::Sandbox();
  if (view.output.NeedsLink()) {
    text.link = co_await OutputLinkOf(services, context, job, sandbox, false);
  }
  if (view.errors && view.errors->NeedsLink()) {
    text.errors_link = co_await OutputLinkOf(services, context, job, sandbox, true);
  }
  text.started = options.started.get();
  // What printed nothing doesn't tell.
  text.apart = context.persistent;
  JobText made = MakeJobText(view, services.clock.Now(), text);
  if (made.names_job) {
    services.positions.Set(
        context.principal(), job.id,
        {.offset = view.output.resume(),
         .errors_offset = view.errors ? view.errors->resume() : options.errors_from,
         .ends = options.ends});
  }
  co_return ToolResult::Text(std::move(made.text));
}

Async<ToolResult> AwaitMore(const JobServices& services, CallContext& context, NamedJob job,
                            JobOffset begin, std::chrono::milliseconds wait, std::string note) {
  const auto running = std::make_shared<RunningJob>();
  running->sandbox = job.sandbox;
  running->job_id = job.id.bytes();
  JobRun run(services.agent, running, context.progress,
             {.max_output_bytes = services.settings.max_output_bytes,
              .from = {.output = begin.offset, .errors = begin.errors_offset},
              .wait = wait,
              .end_on_disconnect = false});
  const absl::Status followed = co_await run.Watch();
  if (!followed.ok()) co_return ExplainJobError(followed);
  AnswerOptions options;
  options.ends = begin.ends;
  options.errors_from = begin.errors_offset;
  // Another gateway may have started it.
  if (!options.ends && !run.view().outcome) options.ends = co_await run.AskDeadline();
  options.notes = {std::move(note), std::string(begin.note)};
  co_return co_await AnswerOf(services, context, job, run, std::move(options));
}

boost::asio::awaitable<std::string> OutputLinkOf(const JobServices& services,
                                                 const CallContext& context, const NamedJob& job,
                                                 const v1::Sandbox& sandbox, bool errors) {
  v1::Sandbox known = sandbox;
  if (known.key().empty()) {
    v1::GetSandboxRequest request;
    *request.mutable_sandbox() = job.sandbox;
    absl::StatusOr<v1::Sandbox> answer = co_await services.agent.GetSandbox(std::move(request));
    if (!answer.ok()) co_return std::string();
    known = *std::move(answer);
  }
  if (known.key().empty() || known.generation().empty()) co_return std::string();
  const LinkTarget target{.principal = context.principal().text(),
                          .key = known.key(),
                          .generation = known.generation(),
                          .persistent = context.persistent};
  co_return services.links.MakeForJob(context.request.public_base, target, job.id, errors);
}

}  // namespace sandkeep::mcp
