#include "agent/sandbox/sandbox.h"

#include <boost/asio/strand.hpp>
#include <utility>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/held_watcher.h"
#include "agent/sandbox/spools.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

// A StartJob in flight: as long as it lives, the sandbox is busy. On the strand; it may end after
// the manager, when the executor drops what it still has.
class Sandbox::CallGuard {
 public:
  explicit CallGuard(Sandbox& sandbox) : sandbox_(sandbox) {
    ++sandbox_.calls_;
    sandbox_.last_call_ = sandbox_.clock_.Steady();
    sandbox_.Publish();
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  ~CallGuard() {
    --sandbox_.calls_;
    sandbox_.last_call_ = sandbox_.clock_.Steady();
    sandbox_.Publish();
  }

 private:
  Sandbox& sandbox_;
};

Sandbox::Sandbox(const SandboxContext& context, SandboxRow row, bool recorded,
                 std::vector<JobRow> jobs, std::optional<WarmContainer> warm)
    : context_(context),
      clock_(context.clock),
      key_(row.key),
      principal_(row.principal),
      label_(row.label),
      volume_(row.volume),
      generation_(row.generation),
      strand_(boost::asio::make_strand(context.executor)),
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

Async<void> Sandbox::ForgetOldestOutput() { return OnStrand(ForgetOldestOutputHere()); }

Async<StartedJob> Sandbox::StartJobHere(JobSpec spec) {
  const CallGuard call(*this);
  const absl::Time last_used_before = row_.last_used;
  // A retry attaches, whether its container still runs or not.
  absl::StatusOr<JobSnapshot> known = jobs_->Find(spec.id);
  if (known.ok()) co_return Started(*std::move(known), Arrival::kRunning, last_used_before);
  if (use_->running_jobs >= kMaxRunningJobsEach) {
    co_return absl::ResourceExhaustedError(
        StrCat(kMaxRunningJobsEach, " of your commands run already: stop some, or wait for them"));
  }
  CO_ASSIGN_OR_RETURN(const Arrival arrival, co_await EnsureRunning());
  CO_RETURN_IF_ERROR(co_await Touch(context_.clock.Now()));
  CO_ASSIGN_OR_RETURN(JobSnapshot job, co_await jobs_->Start(std::move(spec)));
  co_return Started(std::move(job), arrival, last_used_before);
}

absl::StatusOr<StartedJob> Sandbox::Started(JobSnapshot job, Arrival arrival,
                                            absl::Time last_used_before) {
  ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, WatchHeld(job.id, 0, true));
  std::vector<std::string> notes;
  for (const std::string& head : std::exchange(cut_off_, {})) {
    notes.push_back(StrCat("this command was cut off when its container ended: ", head));
  }
  SandboxSnapshot now = View().snapshot;
  // The view may be of the moment before this job was added.
  now.running_jobs = jobs_->running();
  return StartedJob{.sandbox = std::move(now),
                    .arrival = arrival,
                    .last_used_before = last_used_before,
                    .job = std::move(job),
                    .timeout_lowered_to = std::nullopt,
                    .notes = std::move(notes),
                    .watcher = std::move(watcher)};
}

absl::StatusOr<std::unique_ptr<JobWatcher>> Sandbox::WatchHeld(const JobId& id,
                                                               std::int64_t from_offset,
                                                               bool follow) {
  ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, jobs_->Watch(id, from_offset, follow));
  // To read of what is over is only to look.
  ASSIGN_OR_RETURN(const JobSnapshot job, jobs_->Find(id));
  if (!follow || job.state == JobState::kEnded) return watcher;
  if (use_->waits >= kMaxWaitsEach) {
    return absl::ResourceExhaustedError(
        StrCat(kMaxWaitsEach, " of your calls wait for commands already"));
  }
  // Both end with the watcher.
  struct Wait {
    std::shared_ptr<PrincipalUse> use;
    std::shared_ptr<void> hold;
    ~Wait() { --use->waits; }
  };
  ++use_->waits;
  return MakeHeldWatcher(std::move(watcher), std::shared_ptr<Wait>(new Wait{use_, Hold()}));
}

Async<WatchedJob> Sandbox::WatchJobHere(std::optional<JobId> id, std::int64_t from_offset,
                                        bool follow) {
  CO_ASSIGN_OR_RETURN(JobSnapshot job, id ? jobs_->Find(*id) : jobs_->Newest());
  CO_ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, WatchHeld(job.id, from_offset, follow));
  // Who waits for a command wants it to go on. Without a place for it the wait is all there is.
  if (follow && job.state != JobState::kEnded) (co_await ThawNowHere()).IgnoreError();
  co_return WatchedJob{.job = std::move(job), .watcher = std::move(watcher)};
}

Async<std::vector<JobSnapshot>> Sandbox::ListJobsHere(int limit) { co_return jobs_->List(limit); }

Async<std::int64_t> Sandbox::SendInputHere(JobId id, std::string data, bool end) {
  CO_RETURN_IF_ERROR(co_await ThawNowHere());
  co_return co_await jobs_->SendInput(std::move(id), std::move(data), end);
}

Async<JobSnapshot> Sandbox::SignalJobHere(JobId id, int signal, absl::Duration grace) {
  // Who gives a grace wants it to end; who gives none wants it to hear.
  const bool cancel = grace > absl::ZeroDuration();
  // Without a place it is signalled all the same: who is stopped gets it when it goes on.
  (co_await ThawNowHere()).IgnoreError();
  co_return co_await jobs_->Signal(std::move(id), signal, grace, cancel);
}

Async<Arrival> Sandbox::ReadyForFilesHere() {
  const CallGuard call(*this);
  if (volume_exists_ && recorded_ && !forgotten_) co_return Arrival::kRunning;
  co_return co_await EnsureRunning();
}

Async<void> Sandbox::FilesChangedHere() {
  jobs_->RenewStandby();
  co_return co_await Touch(context_.clock.Now());
}

// As long as one lives, the volume isn't removed.
class Sandbox::CommitGuard {
 public:
  explicit CommitGuard(Sandbox& sandbox) : sandbox_(sandbox) { ++sandbox_.commits_; }
  CommitGuard(const CommitGuard&) = delete;
  CommitGuard& operator=(const CommitGuard&) = delete;
  ~CommitGuard() {
    if (--sandbox_.commits_ == 0) sandbox_.commits_done_.WakeAll();
  }

 private:
  Sandbox& sandbox_;
};

Async<TakenFile> Sandbox::CommitFileHere(std::shared_ptr<PendingFile> file, TakeTerms terms) {
  if (volume_closed_) co_return NoSuchSandbox();
  const CommitGuard commit(*this);
  CO_ASSIGN_OR_RETURN(TakenFile taken, co_await file->Commit(std::move(terms)));
  files_taken_ = true;
  const absl::Status told = co_await FilesChangedHere();
  if (!told.ok()) Log(Severity::kWarning, "sandbox.touch_failed", {{"why", told}});
  co_return taken;
}

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
  const std::lock_guard lock(view_mutex_);
  SandboxView view = view_;
  view.activity.holds = holds_->count();
  view.activity.last_hold = holds_->last();
  return view;
}

Activity Sandbox::ActivityNow() const {
  return Activity{.calls = calls_,
                  .holds = holds_->count(),
                  .running_jobs = jobs_->running(),
                  .left_behind = jobs_->left_behind(),
                  .last_call = last_call_,
                  .last_hold = holds_->last(),
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
  view_.output_bytes = output_bytes;
  view_.oldest_output = oldest_output;
}

}  // namespace sandkeep
