// What callers want of a sandbox: commands, their output, and files that come from outside. What
// may be refused is, before anything is started for it.

#include <utility>

#include "agent/sandbox/held_watcher.h"
#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// A command that is about to start, counted from its admission on: of many calls at once no more
// are let through than there may be commands.
class StartSeat {
 public:
  explicit StartSeat(PrincipalUse& use) : use_(use), ahead_(use.starting_jobs.fetch_add(1)) {}
  StartSeat(const StartSeat&) = delete;
  StartSeat& operator=(const StartSeat&) = delete;
  ~StartSeat() { --use_.starting_jobs; }

  bool is_over() const { return use_.running_jobs + ahead_ >= kMaxRunningJobsEach; }

 private:
  PrincipalUse& use_;
  const int ahead_;
};

absl::Status TooManyJobs() {
  return absl::ResourceExhaustedError(
      StrCat(kMaxRunningJobsEach, " of your commands run already: stop some, or wait for them"));
}

}  // namespace

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

// A call that follows a command; it ends with its watcher.
struct Sandbox::Wait {
  explicit Wait(std::shared_ptr<PrincipalUse> of) : use(std::move(of)) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() { --use->waits; }

  const std::shared_ptr<PrincipalUse> use;
  std::shared_ptr<void> hold;
};

Async<StartedJob> Sandbox::StartJobHere(JobSpec spec) {
  const CallGuard call(*this);
  const absl::Time last_used_before = row_.last_used;
  absl::StatusOr<JobSnapshot> known = jobs_->Find(spec.id);
  if (known.ok()) co_return co_await Rejoin(*std::move(known));
  // Whatever may be refused is, before anything is started.
  const StartSeat seat(*use_);
  absl::StatusOr<std::shared_ptr<Wait>> wait = TakeWait();
  if (seat.is_over()) wait = TooManyJobs();
  if (!wait.ok()) {
    co_await ForgetUnused();
    co_return wait.status();
  }
  Arrival arrival = Arrival::kRunning;
  absl::StatusOr<JobSnapshot> begun = absl::FailedPreconditionError("not tried");
  // It may be ended again before the command is begun: by removals that stood in line, say.
  for (int tries = 0; tries < kStartTries && absl::IsFailedPrecondition(begun.status()); ++tries) {
    CO_ASSIGN_OR_RETURN(arrival, co_await EnsureRunning());
    CO_RETURN_IF_ERROR(co_await Touch(context_.clock.Now()));
    auto start = jobs_->Start(spec);
    begun = co_await std::move(start);
  }
  if (absl::IsFailedPrecondition(begun.status())) {
    co_return absl::UnavailableError("the sandbox is being ended again and again: try again");
  }
  CO_ASSIGN_OR_RETURN(JobSnapshot job, std::move(begun));
  ran_ = true;
  // From here on it counts as running.
  OnActivity();
  CO_ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, jobs_->Watch(job.id, 0, true));
  watcher = HoldWith(*std::move(wait), std::move(watcher));
  co_return Started(std::move(job), arrival, last_used_before, std::move(watcher));
}

// A retry attaches, whether its container still runs or not.
Async<StartedJob> Sandbox::Rejoin(JobSnapshot job) {
  CO_ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, WatchHeld(job.id, 0, true));
  const absl::Time last_used_before = row_.last_used;
  // As for who waits for it.
  if (job.state != JobState::kEnded) (co_await ThawNowHere()).IgnoreError();
  co_return Started(std::move(job), Arrival::kRunning, last_used_before, std::move(watcher));
}

// One that was made for a call which is refused: its name and its container are free again.
boost::asio::awaitable<void> Sandbox::ForgetUnused() {
  if (recorded_ || start_) co_return;
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (recorded_ || start_ || forgotten_) co_return;
  LogFailure("sandbox.not_forgotten", co_await UndoCreate());
}

StartedJob Sandbox::Started(JobSnapshot job, Arrival arrival, absl::Time last_used_before,
                            std::unique_ptr<JobWatcher> watcher) {
  std::vector<std::string> notes;
  for (const std::string& head : std::exchange(cut_off_, {})) {
    notes.push_back(StrCat("this command was cut off when its container ended: ", head));
  }
  while (std::optional<std::string> news = jobs_->TakeNews()) notes.push_back(*std::move(news));
  if (std::exchange(files_lost_, false)) {
    arrival = Arrival::kNew;
    notes.emplace_back("the files of this sandbox were removed by hand, on its host");
  }
  if (arrival == Arrival::kRebuilt && !row_.reinstall.empty()) {
    notes.push_back(StrCat("what had been installed comes back by: ", row_.reinstall));
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

absl::StatusOr<std::shared_ptr<Sandbox::Wait>> Sandbox::TakeWait() {
  // Its other sandboxes' strands count here too.
  if (use_->waits.fetch_add(1) < kMaxWaitsEach) return std::make_shared<Wait>(use_);
  --use_->waits;
  return absl::ResourceExhaustedError(
      StrCat(kMaxWaitsEach, " of your calls wait for commands already"));
}

std::unique_ptr<JobWatcher> Sandbox::HoldWith(std::shared_ptr<Wait> wait,
                                              std::unique_ptr<JobWatcher> watcher) {
  wait->hold = Hold();
  return MakeHeldWatcher(std::move(watcher), std::move(wait));
}

absl::StatusOr<std::unique_ptr<JobWatcher>> Sandbox::WatchHeld(const JobId& id,
                                                               std::int64_t from_offset,
                                                               bool follow) {
  ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, jobs_->Watch(id, from_offset, follow));
  // To read of what is over is only to look.
  ASSIGN_OR_RETURN(const JobSnapshot job, jobs_->Find(id));
  if (!follow || job.state == JobState::kEnded) return watcher;
  ASSIGN_OR_RETURN(std::shared_ptr<Wait> wait, TakeWait());
  return HoldWith(std::move(wait), std::move(watcher));
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
  // Its first start gives the folder to the root inside.
  const bool begun = row_.container || row_.last_used != absl::InfinitePast();
  if (volume_exists_ && recorded_ && begun && !forgotten_) co_return Arrival::kRunning;
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
  // First: nothing else tells the next agent that the volume of one never used isn't empty.
  if (row_.last_used == absl::InfinitePast()) {
    CO_RETURN_IF_ERROR(co_await Touch(context_.clock.Now()));
  }
  CO_ASSIGN_OR_RETURN(TakenFile taken, co_await file->Commit(std::move(terms)));
  files_taken_ = true;
  const absl::Status told = co_await FilesChangedHere();
  if (!told.ok()) Log(Severity::kWarning, "sandbox.touch_failed", {{"why", told}});
  co_return taken;
}

}  // namespace sandkeep
