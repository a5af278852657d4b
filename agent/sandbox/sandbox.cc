#include "agent/sandbox/sandbox.h"

#include <utility>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/spools.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strand.h"
#include "common/strings.h"

namespace sandkeep {

Sandbox::Sandbox(const SandboxContext& context, SandboxRow row, bool recorded,
                 std::vector<JobRow> jobs, std::optional<WarmContainer> warm)
    : context_(context),
      clock_(context.clock),
      key_(row.key),
      principal_(row.principal),
      label_(row.label),
      volume_(row.volume),
      generation_(row.generation),
      was_paused_(row.disk.paused),
      strand_(MakeStrand(context.executor)),
      changes_(context.registry.change_count()),
      row_(std::move(row)),
      recorded_(recorded),
      volume_exists_(recorded),
      last_call_(context.clock.Steady()),
      left_since_(last_call_),
      state_since_(last_call_),
      touched_(row_.last_used),
      warm_(std::move(warm)),
      lock_(strand_),
      commits_done_(strand_),
      jobs_(MakeJobTable(strand_, context.store, context.clock, context.random, context.limits.jobs,
                         key_, SpoolFolder(context.state_dir, key_), std::move(jobs), context.disk,
                         *this)),
      holds_(std::make_shared<HoldCount>(context.clock)),
      use_(context.capacity.UseOf(principal_)),
      view_{.snapshot = {.key = key_,
                         .label = label_,
                         .principal = principal_,
                         .generation = generation_,
                         .created = row_.created,
                         .last_used = row_.last_used,
                         .hostname = key_.text()}} {
  if (row_.disk.workspace >= 0) {
    NoteDiskUse(
        {.workspace = row_.disk.workspace, .layer = row_.disk.layer, .names = row_.disk.names});
  }
  Publish();
}

Async<StartedJob> Sandbox::StartJob(JobSpec spec) {
  return OnStrand(StartJobHere(std::move(spec)));
}

Async<WatchedJob> Sandbox::WatchJob(std::optional<JobId> id, std::int64_t from_offset,
                                    bool follow) {
  return OnStrand(WatchJobHere(std::move(id), from_offset, follow));
}

Async<std::vector<JobSnapshot>> Sandbox::ListJobs(int limit) {
  return OnStrand(ListJobsHere(limit));
}

Async<std::int64_t> Sandbox::SendInput(JobId id, std::string data, bool end) {
  return OnStrand(SendInputHere(std::move(id), std::move(data), end));
}

Async<JobSnapshot> Sandbox::SignalJob(JobId id, int signal, absl::Duration grace) {
  return OnStrand(SignalJobHere(std::move(id), signal, grace));
}

Async<Arrival> Sandbox::ReadyForFiles() { return OnStrand(ReadyForFilesHere()); }

Async<void> Sandbox::FilesChanged() { return OnStrand(FilesChangedHere()); }

Async<TakenFile> Sandbox::CommitFile(std::shared_ptr<PendingFile> file, TakeTerms terms) {
  return OnStrand(CommitFileHere(std::move(file), std::move(terms)));
}

Async<void> Sandbox::ForgetJobs(absl::Time ended_before) {
  return OnStrand(ForgetJobsHere(ended_before));
}

Async<void> Sandbox::LookAgain() { return OnStrand(LookAgainHere()); }

Async<bool> Sandbox::NarrowOutput() { return OnStrand(NarrowOutputHere()); }

Async<bool> Sandbox::NarrowOutputHere() {
  const absl::StatusOr<bool> narrowed = co_await jobs_->NarrowLargest();
  Publish();
  co_return narrowed;
}

Async<void> Sandbox::ForgetOldestOutput() { return OnStrand(ForgetOldestOutputHere()); }

Async<void> Sandbox::ForgetJobsHere(absl::Time ended_before) {
  co_return co_await jobs_->Forget(ended_before);
}

Async<void> Sandbox::LookAgainHere() {
  Publish();
  co_return absl::OkStatus();
}

Async<void> Sandbox::ForgetOldestOutputHere() {
  const absl::Status forgotten = co_await jobs_->ForgetOldest();
  Publish();
  co_return forgotten;
}

Async<void> Sandbox::Touch(absl::Time now) {
  const absl::Time before = row_.last_used;
  row_.last_used = now;
  Publish();
  if (before == absl::InfinitePast()) {
    // Written before the first command, or a crash would make the sandbox new a second time.
    absl::Status written = co_await context_.store.TouchSandbox(key_, now);
    if (!written.ok()) row_.last_used = before;
    co_return written;
  }
  TouchSoon();
  co_return absl::OkStatus();
}

void Sandbox::TouchSoon() {
  if (row_.last_used - touched_ < absl::FromChrono(kTouchInterval)) return;
  touched_ = row_.last_used;
  Spawn(strand_, "sandbox.touch", Shield(shared_from_this(), WriteTouch(touched_)));
}

boost::asio::awaitable<void> Sandbox::WriteTouch(absl::Time used) {
  const absl::Status written = co_await context_.store.TouchSandbox(key_, used);
  if (!written.ok() && !absl::IsNotFound(written)) {
    Log(Severity::kWarning, "sandbox.touch_failed", {{"sandbox", key_.text()}, {"why", written}});
  }
}

void Sandbox::OnActivity() {
  const int running = jobs_->running();
  const int left_behind = jobs_->left_behind();
  const Clock::Monotonic now = context_.clock.Steady();
  if (left_behind > left_behind_) left_since_ = now;
  const bool changed = running != running_jobs_ || left_behind != left_behind_;
  use_->running_jobs += running - running_jobs_;
  running_jobs_ = running;
  left_behind_ = left_behind;
  if (changed) last_call_ = now;
  if (changed && recorded_) {
    row_.last_used = context_.clock.Now();
    TouchSoon();
  }
  Publish();
}

SandboxView Sandbox::View() const {
  return Peek([](const SandboxView& view) { return view; });
}

Activity Sandbox::ActivityNow() const {
  const HoldCount::Now holds = holds_->now();
  return Activity{.calls = calls_,
                  .holds = holds.count,
                  .running_jobs = jobs_->running(),
                  .left_behind = jobs_->left_behind(),
                  .last_call = last_call_,
                  .last_hold = holds.last,
                  .left_since = left_since_};
}

void Sandbox::Publish() {
  Activity activity = ActivityNow();
  // Who only looks or waits makes it no busier.
  activity.holds = 0;
  const bool busy = IsBusy(activity);
  const std::int64_t output_bytes = jobs_->output_bytes();
  const absl::Time oldest_output = jobs_->oldest_output();
  const std::lock_guard lock(view_mutex_);
  view_.snapshot.state = state_;
  view_.snapshot.last_used = row_.last_used;
  view_.snapshot.running_jobs = activity.running_jobs;
  view_.recorded = recorded_;
  if (busy && !view_.snapshot.busy) view_.busy_since = clock_.Now();
  view_.snapshot.busy = busy;
  view_.snapshot.state_since = row_.rest_since;
  view_.activity = activity;
  view_.state_since = state_since_;
  view_.for_room = for_room_;
  view_.has_place = has_slot_;
  view_.retry_due = retry_due_;
  view_.container = row_.container;
  view_.paused = !pause_reason_.empty();
  view_.output_bytes = output_bytes;
  view_.oldest_output = oldest_output;
  ++*changes_;
}

}  // namespace sandkeep
