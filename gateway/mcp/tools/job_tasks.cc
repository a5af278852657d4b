#include "gateway/mcp/tools/job_tasks.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/hex.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/job_answer.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;
using boost::asio::awaitable;

constexpr std::string_view kPrefix = "job-";
// Enough of the output's end to have its last line.
constexpr std::int64_t kTailBytes = 1024;
constexpr std::size_t kMessageBytes = 200;

std::string IdOf(std::string_view label, const JobId& job) {
  return StrCat(kPrefix, job.hex(), "-", absl::BytesToHexString(ToAbsl(label)));
}

// NotFound: no id that this server gave.
absl::StatusOr<NamedJob> JobOf(const CallContext& context, std::string_view id) {
  const absl::Status unknown = absl::NotFoundError("no such task");
  id.remove_prefix(kPrefix.size());
  const std::size_t end = id.find('-');
  if (end == std::string_view::npos) return unknown;
  const absl::StatusOr<JobId> job = JobId::FromHex(id.substr(0, end));
  const std::optional<std::string> label = BytesOfHex(id.substr(end + 1));
  if (!job.ok() || !label || label->empty() || label->size() > kMaxLabelBytes) return unknown;
  if (!IsUtf8(*label)) return unknown;
  NamedJob named{.sandbox = {}, .id = *job};
  named.sandbox.set_principal(std::string(context.principal().text()));
  named.sandbox.set_label(*label);
  return named;
}

awaitable<std::optional<std::chrono::milliseconds>> KeptFor(const JobServices& services) {
  const HostInfo host = co_await services.host.Known();
  if (host == nullptr || host->limits().job_keep_ms() <= 0) co_return std::nullopt;
  co_return std::chrono::milliseconds(host->limits().job_keep_ms());
}

v1::ReadOutputRequest OutputRequest(const NamedJob& job, std::int64_t offset, std::int64_t limit) {
  v1::ReadOutputRequest request;
  *request.mutable_sandbox() = job.sandbox;
  request.set_job_id(job.id.bytes());
  request.set_offset(offset);
  request.set_limit(limit);
  return request;
}

std::shared_ptr<RunningJob> Running(const NamedJob& job) {
  auto running = std::make_shared<RunningJob>();
  running->sandbox = job.sandbox;
  running->job_id = job.id.bytes();
  return running;
}

}  // namespace

bool JobTasks::Knows(std::string_view id) const { return id.substr(0, kPrefix.size()) == kPrefix; }

Async<v1::Job> JobTasks::Look(NamedJob job) {
  auto asked = services_.agent.ReadOutput(OutputRequest(job, 0, 1));
  CO_ASSIGN_OR_RETURN(const v1::ReadOutputResponse answer, co_await std::move(asked));
  co_return answer.job();
}

awaitable<std::string> JobTasks::WordsOn(NamedJob job, v1::Job state) {
  if (state.waiting_for_input()) co_return "It waits for input.";
  if (!state.paused().empty()) co_return state.paused();
  if (state.output_bytes() == 0) co_return std::string();
  const std::int64_t from = std::max<std::int64_t>(0, state.output_bytes() - kTailBytes);
  auto asked = services_.agent.ReadOutput(OutputRequest(job, from, kTailBytes));
  const absl::StatusOr<v1::ReadOutputResponse> tail = co_await std::move(asked);
  if (!tail.ok()) co_return std::string();
  OutputWindow window(kTailBytes, from);
  window.Append(tail->offset(), tail->data());
  co_return OneLine(window.LastLine(), kMessageBytes);
}

Async<TaskDetails> JobTasks::Get(CallContext& context, std::string id) {
  CO_ASSIGN_OR_RETURN(const NamedJob job, JobOf(context, id));
  auto look = Look(job);
  CO_ASSIGN_OR_RETURN(const v1::Job state, co_await std::move(look));
  TaskDetails details;
  details.task.id = std::move(id);
  details.task.created = absl::FromUnixMillis(state.started_ms());
  details.task.ttl = co_await KeptFor(services_);
  if (state.state() != v1::Job::ENDED) {
    details.task.updated = services_.clock.Now();
    auto words = WordsOn(job, state);
    details.task.message = co_await std::move(words);
    co_return details;
  }
  details.task.updated = absl::FromUnixMillis(state.ended_ms());
  details.task.status = TaskStatus::kCancelled;
  if (state.outcome().ending() == v1::Outcome::CANCELLED) co_return details;
  details.task.status = TaskStatus::kCompleted;
  auto result = ResultOf(context, job);
  CO_ASSIGN_OR_RETURN(details.result, co_await std::move(result));
  co_return details;
}

Async<ToolResult> JobTasks::ResultOf(CallContext& context, NamedJob job) {
  context.sandbox = job.sandbox.label();
  JobRun run(services_.agent, Running(job), context.progress,
             {.max_output_bytes = services_.settings.max_output_bytes,
              .from = {},
              .wait = std::chrono::milliseconds(0),
              .end_on_disconnect = false});
  CO_RETURN_IF_ERROR(co_await run.Watch());
  AnswerOptions options;
  if (const auto known = services_.positions.Find(context.principal(), job.id)) {
    options.started = known->started;
  }
  auto answer = AnswerOf(services_, context, job, run, std::move(options));
  co_return co_await std::move(answer);
}

Async<void> JobTasks::Update(CallContext& context, std::string id,
                             boost::json::object /*answers*/) {
  CO_ASSIGN_OR_RETURN(const NamedJob job, JobOf(context, id));
  auto look = Look(job);
  const absl::StatusOr<v1::Job> known = co_await std::move(look);
  co_return known.status();
}

Async<void> JobTasks::Cancel(CallContext& context, std::string id) {
  CO_ASSIGN_OR_RETURN(const NamedJob job, JobOf(context, id));
  auto look = Look(job);
  CO_ASSIGN_OR_RETURN(const v1::Job state, co_await std::move(look));
  // What it left behind was left on purpose.
  if (state.state() == v1::Job::ENDED) co_return absl::OkStatus();
  const std::shared_ptr<RunningJob> running = Running(job);
  auto stop = StopJob(services_.agent, *running, kCancelGrace.count());
  co_return co_await std::move(stop);
}

awaitable<Task> MakeJobTask(const JobServices& services, const CallContext& context,
                            const NamedJob& job, const JobView& view) {
  const v1::JobStarted& started = *view.started;
  services.positions.Set(context.principal(), job.id,
                         {.offset = 0,
                          .errors_offset = 0,
                          .ends = std::nullopt,
                          .started = std::make_shared<const v1::JobStarted>(started)});
  const std::int64_t began = started.job().started_ms();
  Task task;
  task.id = IdOf(started.sandbox().label(), job.id);
  task.updated = services.clock.Now();
  task.created = began > 0 ? absl::FromUnixMillis(began) : task.updated;
  task.message = OneLine(view.output.LastLine(), kMessageBytes);
  task.ttl = co_await KeptFor(services);
  co_return task;
}

}  // namespace sandkeep::mcp
