#include "agent/jobs/job_entry.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "agent/jobs/pipe.h"
#include "agent/jobs/verdict.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::int64_t LimitOfEach(const JobRow& row) {
  return row.merge_streams ? row.spool_bytes : row.spool_bytes / 2;
}

}  // namespace

JobEntry::JobEntry(boost::asio::any_io_executor strand, boost::asio::any_io_executor disk,
                   Clock& clock, JobRow row, const std::string& spool_dir, JobEntryOwner& owner)
    : strand_(std::move(strand)),
      disk_(std::move(disk)),
      clock_(clock),
      row_(std::move(row)),
      owner_(&owner),
      changed_(strand_) {
  const SpoolWindow window(LimitOfEach(row_));
  const std::string stem = StrCat(spool_dir, "/", row_.id.hex());
  const OutputStream first = row_.merge_streams ? OutputStream::kMerged : OutputStream::kStdout;
  streams_.push_back({first, stem + ".out", window, nullptr, 0});
  if (!row_.merge_streams) {
    streams_.push_back({OutputStream::kStderr, stem + ".err", window, nullptr, 0});
  }
  recorded_ = ended();
  settled_told_ = ended();
  // Whether they still live only init can tell, or the container's end.
  if (ended() && row_.outcome && row_.outcome->left_behind > 0) {
    gone_ = false;
    left_behind_ = row_.outcome->left_behind;
    settled_told_ = false;
  }
}

Pump& JobEntry::MakePump(std::size_t stream, UniqueFd pipe) {
  Stream& of = streams_[stream];
  if (of.pump) of.pump->Stop();
  of.pump = std::make_shared<Pump>(strand_, disk_, std::move(pipe), Spool(of.path, of.window),
                                   row_.id.hex(), static_cast<PumpSink&>(*this));
  return *of.pump;
}

absl::Status JobEntry::Begin(Pipes pipes, std::string stdin_text, bool keep_stdin) {
  gone_ = false;
  counts_at_start_ = owner_->Counts();
  timers_ = std::make_unique<Timers>(strand_);
  MakePump(0, std::move(pipes.out)).Start();
  if (!row_.merge_streams) MakePump(1, std::move(pipes.err)).Start();
  if (pipes.in) {
    input_ = std::make_shared<Input>(strand_, std::move(pipes.in));
    RETURN_IF_ERROR(input_->Write(std::move(stdin_text), !keep_stdin));
  } else {
    given_input_ = static_cast<std::int64_t>(stdin_text.size());
  }
  ArmDeadline();
  return absl::OkStatus();
}

absl::Status JobEntry::Adopt(InitJob job) {
  begun_ = true;
  UniqueFd pipes[] = {std::move(job.stdout_pipe), std::move(job.stderr_pipe)};
  const std::uint64_t inodes[] = {row_.stdout_inode, row_.stderr_inode};
  timers_ = std::make_unique<Timers>(strand_);
  gone_ = job.gone;
  // What ended while there was no agent may have been counted by then.
  counts_at_start_ = job.exited ? std::nullopt : owner_->Counts();
  settled_told_ = false;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!pipes[i]) continue;
    ASSIGN_OR_RETURN(UniqueFd ours, TakeBackReader(pipes[i], inodes[i]));
    if (ours) RETURN_IF_ERROR(MakePump(i, std::move(ours)).Resume());
  }
  if (job.stdin_pipe) {
    ASSIGN_OR_RETURN(UniqueFd ours, TakeBackWriter(job.stdin_pipe, row_.stdin_inode));
    if (ours && row_.stdin_open) input_ = std::make_shared<Input>(strand_, std::move(ours));
  }
  if (ended()) {
    left_behind_ = gone_ ? 0 : std::max(1, row_.outcome->left_behind);
    if (gone_) NoteNothingLeft();
    CheckSettled();
    return absl::OkStatus();
  }
  row_.state = JobState::kRunning;
  if (!job.exited) {
    ArmDeadline();
    SendEarlySignals();
    return absl::OkStatus();
  }
  exited_ago_ = job.exited_ago;
  OnExited(job.wait_status, gone_ ? 0 : 1, false);
  return absl::OkStatus();
}

void JobEntry::SendEarlySignals() {
  begun_ = true;
  for (const EarlySignal& early : std::exchange(early_, {})) {
    Stop(early.signal, early.grace, early.cancel);
  }
}

void JobEntry::ArmDeadline() {
  if (row_.deadline == absl::InfiniteFuture()) return;
  const absl::Duration left = std::max(row_.deadline - clock_.Now(), absl::ZeroDuration());
  After(&Timers::deadline, absl::ToChronoMilliseconds(left), &JobEntry::OnDeadline);
}

void JobEntry::After(TimerMember timer, Steady::duration time, void (JobEntry::*due)()) {
  boost::asio::steady_timer& chosen = (*timers_).*timer;
  chosen.expires_after(time);
  auto fired = [weak = weak_from_this(), due](boost::system::error_code error) {
    const std::shared_ptr<JobEntry> self = weak.lock();
    if (!error && self && self->timers_) ((*self).*due)();
  };
  chosen.async_wait(std::move(fired));
}

void JobEntry::OnStarted() {
  if (!ended()) row_.state = JobState::kRunning;
}

void JobEntry::OnExited(int wait_status, int left_behind, bool supervisor_lost) {
  if (!timers_ || exit_) return;
  left_behind_ = left_behind;
  exit_ = Exit{wait_status, supervisor_lost, Steady::now()};
  timers_->deadline.cancel();
  const auto self = shared_from_this();
  for (Stream& stream : streams_) {
    if (!stream.pump) continue;
    stream.disk_turns_at_exit = stream.pump->disk_turns();
    stream.pump->DrainNow();
  }
  Consider();
}

void JobEntry::OnGone() {
  gone_ = true;
  left_behind_ = 0;
  if (timers_) timers_->kill.cancel();
  NoteNothingLeft();
  Consider();
}

void JobEntry::OnWaiting() {
  if (ended() || waiting_) return;
  waiting_ = true;
  ++waits_;
  changed_.Notify();
}

void JobEntry::OnRefused(const absl::Status& why) {
  gone_ = true;
  FinishPumps();
  if (!ended()) EndAs(OutcomeOfRefusal(why));
  CheckSettled();
}

void JobEntry::Lose(const Outcome& lost) {
  const auto self = shared_from_this();
  gone_ = true;
  left_behind_ = 0;
  FinishPumps();
  NoteNothingLeft();
  if (!ended()) EndAs(exit_ ? Judge() : lost);
  CheckSettled();
}

void JobEntry::Abandon() {
  owner_ = nullptr;
  for (Stream& stream : streams_) {
    if (stream.pump) stream.pump->Stop();
  }
  if (input_) input_->Stop();
  timers_.reset();
  changed_.Notify();
}

void JobEntry::Stop(int signal, absl::Duration grace, bool cancel) {
  if (!begun_ && !ended()) {
    if (early_.size() < kMaxEarlySignals) early_.push_back({signal, grace, cancel});
    return;
  }
  if (!timers_ || gone_) return;
  if (cancel && !exit_ && !stopped_as_) stopped_as_ = Ending::kCancelled;
  killed_by_caller_ = killed_by_caller_ || signal == SIGKILL;
  sent_ = signal;
  if (signal == SIGKILL) return Kill();
  owner_->SignalTree(row_.id, signal);
  if (grace <= absl::ZeroDuration()) return;
  const Steady::time_point due = Steady::now() + absl::ToChronoMilliseconds(grace);
  if (kill_due_ && *kill_due_ <= due) return;
  kill_due_ = due;
  After(&Timers::kill, due - Steady::now(), &JobEntry::Kill);
}

void JobEntry::OnDeadline() {
  if (exit_ || stopped_as_) return;
  stopped_as_ = Ending::kTimedOut;
  waited_at_deadline_ = waiting_;
  Stop(SIGTERM, row_.grace, false);
}

void JobEntry::Kill() {
  kill_due_ = Steady::time_point::min();
  owner_->SignalTree(row_.id, SIGKILL);
  After(&Timers::kill, kKillWait, &JobEntry::GiveUp);
}

// A process that can't die, or an init that doesn't say so. The caller isn't kept waiting for it.
void JobEntry::GiveUp() {
  Log(Severity::kWarning, "job.outlives_sigkill", {{"job", row_.id.hex()}});
  if (!ended()) End();
}

absl::Status JobEntry::WriteInput(std::string data, bool end) {
  if (ended()) return absl::FailedPreconditionError("the command has ended");
  if (!input_) return absl::FailedPreconditionError("the command was started without input");
  RETURN_IF_ERROR(input_->Write(std::move(data), end));
  waiting_ = false;
  return absl::OkStatus();
}

void JobEntry::Pause(const std::string& reason) {
  // One that is being ended must be able to end.
  if (!timers_ || gone_ || stopped_as_ || kill_due_) return;
  owner_->SignalTree(row_.id, SIGSTOP);
  if (paused_ == reason) return;
  paused_ = reason;
  ++pauses_;
  changed_.Notify();
}

void JobEntry::GoOn() {
  if (!timers_ || gone_) return;
  owner_->SignalTree(row_.id, SIGCONT);
  if (paused_.empty()) return;
  paused_.clear();
  ++pauses_;
  changed_.Notify();
}

void JobEntry::OnOutput() {
  last_output_ = Steady::now();
  waiting_ = false;
  changed_.Notify();
}

void JobEntry::OnEndOfOutput() { Consider(); }

// Ends the job if all is known that belongs to its outcome.
void JobEntry::Consider() {
  if (ended()) return CheckSettled();
  if (!exit_ || !timers_) return;
  // A tree that is being killed is an outcome when it is dead, or when we gave up on it.
  if (stopped_as_ && left_behind_ > 0 && !gone_) return;
  if (AtEndOfOutput()) return End();
  After(&Timers::quiet, kExitGrace, &JobEntry::OnQuiet);
}

// Something left behind holds the pipe open. What the command itself printed is out of it when it
// has been silent for a while, and at any rate after some time of draining.
void JobEntry::OnQuiet() {
  const Steady::time_point now = Steady::now();
  const Steady::duration silent = now - std::max(last_output_, exit_->at);
  if (silent < kExitGrace && now - exit_->at < kExitGraceMax) {
    return After(&Timers::quiet, kExitGrace - silent, &JobEntry::OnQuiet);
  }
  if (AtDisk()) return After(&Timers::quiet, kExitGrace, &JobEntry::OnQuiet);
  if (!ended()) End();
}

Outcome JobEntry::JudgeExit() const {
  if (!exit_) return OutcomeOfWaitStatus(SIGKILL, true);
  if (exit_->supervisor_lost) return OutcomeOfLostSupervisor();
  const int status = exit_->wait_status;
  const bool sent = WIFSIGNALED(status) && WTERMSIG(status) == sent_;
  const bool asked = killed_by_caller_ || stopped_as_.has_value() || sent;
  Outcome outcome = OutcomeOfWaitStatus(status, asked);
  if (asked || owner_ == nullptr) return outcome;
  return WithKernelCause(std::move(outcome), counts_at_start_, owner_->Counts(), !company_);
}

Outcome JobEntry::Judge() const {
  if (stopped_as_ == Ending::kTimedOut) {
    return OutcomeOfTimeout(row_.deadline - row_.started, waited_at_deadline_);
  }
  Outcome outcome = JudgeExit();
  if (stopped_as_ == Ending::kCancelled) {
    outcome.code = ShellExitCode(outcome);
    outcome.ending = Ending::kCancelled;
    outcome.remedy.clear();
  }
  return outcome;
}

void JobEntry::End() {
  Outcome outcome = Judge();
  if (disk_full()) {
    std::int64_t kept = 0;
    for (std::size_t i = 0; i < streams_.size(); ++i) kept += size(i);
    outcome = WithFullDisk(std::move(outcome), kept);
  }
  EndAs(std::move(outcome));
  CheckSettled();
}

void JobEntry::EndAs(Outcome outcome) {
  const auto self = shared_from_this();
  outcome.left_behind = left_behind_;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].size_at_end = size(i);
    outcome.output_bytes += size(i);
    outcome.dropped_bytes += dropped(i).size();
  }
  row_.state = JobState::kEnded;
  row_.ended = std::max(clock_.Now() - absl::FromChrono(exited_ago_), row_.started);
  row_.stdin_open = false;
  outcome.wall = absl::ToChronoMilliseconds(row_.ended - row_.started);
  row_.outcome = std::move(outcome);
  if (input_) input_->Stop();
  input_.reset();
  if (timers_) {
    timers_->deadline.cancel();
    timers_->quiet.cancel();
  }
  waiting_ = false;
  // First: who hears that it ended may start another in its place.
  if (owner_ != nullptr) owner_->OnEnded(self);
  changed_.Notify();
}

void JobEntry::CheckSettled() {
  if (!settled() || std::exchange(settled_told_, true)) return;
  const auto self = shared_from_this();
  timers_.reset();
  if (owner_ != nullptr) owner_->OnSettled(self);
}

// Or the next agent would take it for a sandbox in which something goes on.
void JobEntry::NoteNothingLeft() {
  if (!ended() || !row_.outcome || row_.outcome->left_behind == 0) return;
  row_.outcome->left_behind = 0;
  recorded_ = false;
  if (owner_ != nullptr) owner_->OnEnded(shared_from_this());
}

void JobEntry::FinishPumps() {
  for (Stream& stream : streams_) {
    if (stream.pump) stream.pump->Finish();
  }
}

bool JobEntry::AtEndOfOutput() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return stream.pump == nullptr || stream.pump->at_end();
  });
}

bool JobEntry::disk_full() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return stream.pump != nullptr && stream.pump->stuck();
  });
}

// The turn that was under way at its end and a whole one after it empty any pipe: later ones move
// what something left behind prints.
bool JobEntry::AtDisk() const {
  constexpr int kEnough = 2;
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return stream.pump != nullptr && stream.pump->at_disk() &&
           stream.pump->disk_turns() - stream.disk_turns_at_exit < kEnough;
  });
}

std::int64_t JobEntry::size(std::size_t i) const {
  const Stream& stream = streams_[i];
  return stream.pump ? stream.pump->size() : SpoolSize(stream.path);
}

bool JobEntry::knows_sizes() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const Stream& stream) { return stream.pump != nullptr; });
}

std::int64_t JobEntry::kept_bytes() const {
  const bool over = ended() && streams_.front().pump == nullptr;
  if (over) return row_.outcome->output_bytes - row_.outcome->dropped_bytes;
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) kept += size(i) - dropped(i).size();
  return kept;
}

void JobEntry::NarrowOutput(std::int64_t spool_bytes) {
  if (ended()) return;
  row_.spool_bytes = spool_bytes;
  const SpoolWindow window(LimitOfEach(row_));
  for (Stream& of : streams_) {
    of.window = window;
    if (of.pump) of.pump->Narrow(window);
  }
}

JobSnapshot JobEntry::Snapshot() const {
  JobSnapshot snapshot{.id = row_.id,
                       .state = row_.state,
                       .command_head = row_.command_head,
                       .started = row_.started,
                       .ended = row_.ended,
                       .output_bytes = 0,
                       .outcome = row_.outcome,
                       .deadline = row_.deadline,
                       .stdin_open = input_ && input_->open(),
                       .waiting_for_input = waiting_,
                       .left_behind = left_behind(),
                       .paused = paused_};
  for (std::size_t i = 0; i < streams_.size(); ++i) snapshot.output_bytes += size(i);
  return snapshot;
}

}  // namespace sandkeep
