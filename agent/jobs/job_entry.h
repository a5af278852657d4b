// One job of a table: its row, and, while anything of it lives, its pumps, its input and its
// timers. The state machine that turns what init, the clock and the caller say into one Outcome.
//
// On the sandbox's strand. Held by the table and by its watchers; after Abandon it does nothing.
//
//   begun ── exited ──► drained ──► ended (outcome) ──► settled: no process, no byte can come
//     └── lost ─────────────────────────┴──────────────────┘
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/init_link/init_link.h"
#include "agent/jobs/input.h"
#include "agent/jobs/job.h"
#include "agent/jobs/notifier.h"
#include "agent/jobs/pump.h"
#include "agent/jobs/spool.h"
#include "agent/store/store.h"
#include "common/clock.h"

namespace sandkeep {

class JobEntry;

class JobEntryOwner {
 public:
  virtual ~JobEntryOwner() = default;
  virtual void SignalTree(const JobId& id, int signal) = 0;
  // What the kernel has counted against the sandbox. Nothing: this host can't tell.
  virtual std::optional<KernelCounts> Counts() const = 0;
  // The outcome is made, or nothing is left any more of what it left behind: to be recorded.
  virtual void OnEnded(const std::shared_ptr<JobEntry>& job) = 0;
  // Ended, and nothing of it lives: once recorded, init may forget it.
  virtual void OnSettled(const std::shared_ptr<JobEntry>& job) = 0;
};

class JobEntry : public std::enable_shared_from_this<JobEntry>, private PumpSink {
 public:
  // Our ends of the pipes. Not valid: there is none, or no more.
  struct Pipes {
    UniqueFd out;
    UniqueFd err;
    UniqueFd in;
  };

  // The owner outlives the entry or abandons it.
  JobEntry(boost::asio::any_io_executor strand, boost::asio::any_io_executor disk, Clock& clock,
           JobRow row, const std::string& spool_dir, JobEntryOwner& owner);

  // The job is on its way to init.
  absl::Status Begin(Pipes pipes, std::string stdin_text, bool keep_stdin);
  // Init has been told: signals that came earlier follow.
  void SendEarlySignals();
  // What its command has been given and may not have read.
  std::int64_t pending_input() const {
    return given_input_ + (input_ ? static_cast<std::int64_t>(input_->pending()) : 0);
  }
  // Something of another job lived while this one ran.
  void SetCompany() { company_ = true; }
  // Init had it already. DataLoss: init lied.
  absl::Status Adopt(InitJob job);

  void OnStarted();
  void OnExited(int wait_status, int left_behind, bool supervisor_lost);
  void OnGone();
  void OnWaiting();
  void OnRefused(const absl::Status& why);
  // Every process of it is dead, with the container.
  void Lose(const Outcome& lost);
  // Nothing more is to happen here: the agent's end, or the table's.
  void Abandon();

  // Signals the tree, as soon as there is one; SIGKILL follows after `grace` if that is more than
  // zero.
  void Stop(int signal, absl::Duration grace, bool cancel);
  absl::Status WriteInput(std::string data, bool end);
  // Stops every process of it until GoOn. Again: those that came since, or that somebody continued.
  void Pause(const std::string& reason);
  // Also if it was another agent that stopped them.
  void GoOn();

  const JobRow& row() const { return row_; }
  JobSnapshot Snapshot() const;
  bool ended() const { return row_.state == JobState::kEnded; }
  // Processes that live on after the command's end.
  int left_behind() const { return ended() && !gone_ ? left_behind_ : 0; }
  bool settled() const { return ended() && gone_ && AtEndOfOutput(); }
  bool abandoned() const { return owner_ == nullptr; }

  // The outcome is in the store.
  bool recorded() const { return recorded_; }
  void SetRecorded() { recorded_ = true; }

  // For watchers.
  std::size_t streams() const { return streams_.size(); }
  OutputStream stream(std::size_t i) const { return streams_[i].kind; }
  const std::string& spool_path(std::size_t i) const { return streams_[i].path; }
  std::int64_t size(std::size_t i) const;
  // What a reader of the outcome sees of a stream: its size when the job ended.
  std::int64_t size_at_end(std::size_t i) const { return streams_[i].size_at_end; }
  // Without asking the disk: of a job of this agent's own.
  bool knows_sizes() const;
  // What its spools hold on the disk.
  std::int64_t kept_bytes() const;
  // The row says so already: of a running job, less is kept from now on.
  void NarrowOutput(std::int64_t spool_bytes);
  ByteRange dropped(std::size_t i) const { return streams_[i].window.Dropped(size(i)); }
  // Counts the times that it began to wait for input; even when it doesn't now.
  bool waiting() const { return waiting_; }
  int waits() const { return waits_; }
  const std::string& paused() const { return paused_; }
  // Counts the times that it was paused or went on.
  int pauses() const { return pauses_; }
  Notifier& changed() { return changed_; }

 private:
  using Steady = std::chrono::steady_clock;

  struct Stream {
    OutputStream kind;
    std::string path;
    SpoolWindow window;
    std::shared_ptr<Pump> pump;
    int disk_turns_at_exit = 0;
    std::int64_t size_at_end = 0;
  };
  struct Exit {
    int wait_status = 0;
    bool supervisor_lost = false;
    Steady::time_point at;
  };
  // What only a living job needs.
  struct Timers {
    explicit Timers(const boost::asio::any_io_executor& strand)
        : deadline(strand), kill(strand), quiet(strand) {}
    boost::asio::steady_timer deadline;
    boost::asio::steady_timer kill;
    boost::asio::steady_timer quiet;
  };
  struct EarlySignal {
    int signal = 0;
    absl::Duration grace;
    bool cancel = false;
  };
  using TimerMember = boost::asio::steady_timer Timers::*;

  void OnOutput() override;
  void OnEndOfOutput() override;

  Pump& MakePump(std::size_t stream, UniqueFd pipe);
  void ArmDeadline();
  void After(TimerMember timer, Steady::duration time, void (JobEntry::*due)());
  void OnDeadline();
  void Kill();
  void GiveUp();
  void OnQuiet();
  void Consider();
  void End();
  void EndAs(Outcome outcome);
  void CheckSettled();
  void NoteNothingLeft();
  void FinishPumps();
  bool AtEndOfOutput() const;
  bool disk_full() const;
  // What the command itself printed may still be on its way to a slow disk.
  bool AtDisk() const;
  Outcome Judge() const;
  Outcome JudgeExit() const;

  boost::asio::any_io_executor strand_;
  boost::asio::any_io_executor disk_;
  Clock& clock_;
  JobRow row_;
  JobEntryOwner* owner_;
  std::vector<Stream> streams_;
  Notifier changed_;
  std::unique_ptr<Timers> timers_;
  std::shared_ptr<Input> input_;

  std::optional<Exit> exit_;
  std::optional<KernelCounts> counts_at_start_;
  bool company_ = false;
  std::int64_t given_input_ = 0;
  // While the job's row is being recorded, or an earlier agent's job isn't taken over yet.
  std::vector<EarlySignal> early_;
  // Why we ended it, if it was us.
  std::optional<Ending> stopped_as_;
  std::optional<Steady::time_point> kill_due_;
  std::chrono::milliseconds exited_ago_{0};
  Steady::time_point last_output_{};
  int left_behind_ = 0;
  // No process of it lives. A row's job is gone until init says otherwise.
  bool gone_ = true;
  bool begun_ = false;
  bool recorded_ = false;
  bool settled_told_ = false;
  bool killed_by_caller_ = false;
  int sent_ = 0;  // The last signal that we sent it.
  bool waiting_ = false;
  // When its time was over: what its end does isn't what it did.
  bool waited_at_deadline_ = false;
  int waits_ = 0;
  std::string paused_;
  int pauses_ = 0;
};

}  // namespace sandkeep
