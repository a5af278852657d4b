// One command as init knows it: a state machine that only goes forward, and how much of it the
// agent has been told. Nothing is lost while there is no agent, since what isn't said yet is state
// and not a frame.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/init/job_pipes.h"
#include "agent/init/supervisor.h"
#include "common/sealed_text.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep::init {

struct Refusal {
  v1::Refused::Reason reason = v1::Refused::BAD_REQUEST;
  int error = 0;
};

struct JobSignal {
  int number = 0;
  bool tree = false;
};

class Job {
 public:
  enum class Stage { kCollecting, kForked, kStarted, kExited, kGone };

  // With its command, where that came with Start. Nothing: `refusal` says why.
  static std::optional<Job> Collect(const v1::Start& start, std::vector<UniqueFd> descriptors,
                                    std::string_view workspace, Refusal& refusal);

  // kCollecting only. Something: the job can't go on.
  std::optional<Refusal> Append(std::string_view part);
  // By `spare`, if that can still take it.
  std::optional<Refusal> Run(std::optional<Supervisor> spare);

  // Takes what the supervisor has reported. Something: the command never started, and the job is
  // over.
  std::optional<Refusal> TakeReports();
  // The supervisor, once it has said that nothing is left: it waits for another command.
  std::optional<Supervisor> TakeIdleSupervisor();

  // The supervisor has been reaped: with nothing left, or killed and its tree now nobody's; or
  // killed before it began, and there is another. Something: there can be none, and the job is
  // over.
  std::optional<Refusal> SupervisorEnded(int wait_status);
  void TreeSwept() { Become(Stage::kGone); }

  // For when its command runs. False: there are too many.
  [[nodiscard]] bool Keep(JobSignal signal);
  std::vector<JobSignal> TakeEarlySignals() { return std::exchange(early_, {}); }

  void EndInput() { pipes_.stdin_write.Reset(); }
  // Its command runs, as the agent knows, and somebody can still type.
  bool takes_input() const {
    return stage_ == Stage::kStarted && told_ == Stage::kStarted && pipes_.stdin_write.valid();
  }
  // The stdin pipe's.
  ino_t InputInode() const;
  // The agent has recorded the end: nothing is kept, nothing more is said.
  void Forget();
  void CloseDrained() { pipes_.CloseDrained(); }

  Stage stage() const { return stage_; }
  bool forgotten() const { return forgotten_; }
  // Its shell waits for a command.
  bool standby() const { return standby_; }
  void Use() { standby_ = false; }
  // Somebody can still give it one.
  bool Expected() const;
  // A tree that no supervisor holds: whoever kills it finds it below PID 1.
  bool orphaned() const { return orphaned_; }
  // The supervisor's, while there is one.
  pid_t supervisor() const { return supervisor_.has_value() ? supervisor_->pid() : 0; }
  int report_fd() const { return supervisor_.has_value() ? supervisor_->fd() : -1; }
  pid_t command() const { return command_; }

  // Its tree is to die, however often that takes.
  void Doom() { doomed_ = true; }
  bool doomed() const { return doomed_ && stage_ != Stage::kGone; }

  // The next thing to tell the agent, and that it was told.
  bool has_news() const { return !forgotten_ && told_ < stage_; }
  v1::FromInit News(const std::string& id) const;
  void NewsSent();
  void AllTold() { told_ = std::max(stage_, Stage::kForked); }

  v1::JobState State(const std::string& id) const;

 private:
  Job(SealedText text, JobPipes pipes) : text_(std::move(text)), pipes_(std::move(pipes)) {}

  std::optional<Refusal> Fork();
  void Become(Stage stage);
  // What only the start needs, and a second try of it.
  void LetGo();

  std::optional<SealedText> text_;
  std::size_t command_bytes_ = 0;
  JobPipes pipes_;
  CommandSetup setup_;
  std::optional<Supervisor> supervisor_;
  std::vector<JobSignal> early_;
  Stage stage_ = Stage::kCollecting;
  Stage told_ = Stage::kForked;
  pid_t command_ = 0;
  int wait_status_ = 0;
  int left_behind_ = 0;
  bool supervisor_lost_ = false;
  bool orphaned_ = false;
  bool doomed_ = false;
  bool forgotten_ = false;
  bool standby_ = false;
  std::chrono::steady_clock::time_point exited_;
};

}  // namespace sandkeep::init
