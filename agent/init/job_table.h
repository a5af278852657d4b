// All jobs of this sandbox, from Start to Forget: carries out what the agent asks, reaps, and says
// what became of them.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "agent/init/channel.h"
#include "agent/init/job.h"
#include "agent/init/spare.h"

namespace sandkeep::init {

class JobTable {
 public:
  // `channel` outlives the table.
  JobTable(Channel& channel, std::string workspace)
      : channel_(channel), workspace_(std::move(workspace)), spare_(workspace_) {}

  // One request; one that makes no sense is counted and dropped.
  void Handle(Request request);

  // After SIGCHLD: takes every dead child, and continues a supervisor that something stopped.
  void Reap();

  // Adds the sockets of supervisors to what poll waits for.
  void AddReportFds(std::vector<pollfd>& waits) const;
  // What supervisors say whose sockets poll found readable.
  void TakeReports(absl::Span<const pollfd> waits);

  // One turn of whatever has to be killed, if it is due.
  void SweepIfDue();
  // Until the next turn is due. Nothing: nothing has to be killed.
  std::optional<std::chrono::milliseconds> UntilSweep() const;

  // Says of jobs that wait for input that they do, if it is time to look. The agent knows which of
  // them it has been told of.
  void LookAtInputsIfDue();
  // Until the next look. Nothing: no job takes input.
  std::optional<std::chrono::milliseconds> UntilInputs() const;

  // How long there must be nothing to do before the next command's supervisor is made. Nothing: it
  // is there.
  std::optional<std::chrono::milliseconds> UntilSpare() const;
  void MakeSpare() { spare_.Make(); }
  // Half as many wait as commands run, and one: they count against the sandbox's processes.
  void TrimSpares();

  // A shell that is to stand by starts once nothing of any job lives.
  void StartStandbys();

  // A command, or what one left behind, may live.
  bool any() const { return !jobs_.empty(); }

  // Says what hasn't been said. False: the channel takes no more now.
  bool TellNews();

 private:
  using Jobs = std::map<std::string, Job>;

  void Hello(const v1::Hello& hello);
  void Start(const v1::Start& start, std::vector<UniqueFd> descriptors);
  void Append(const v1::Command& command);
  void Run(const std::string& id);
  void Use(const v1::Use& use);
  void Signal(const v1::Signal& signal);
  void Deliver(const Job& job, JobSignal signal);
  // With the signals that came before it ran.
  std::optional<Refusal> TakeReportsOf(Job& job);
  void Input(const v1::Input& input);
  void Forget(const std::string& id);
  void Freeze(bool freeze);

  // The job of a request; answers Refused when there is none, and drops an id that can't be one.
  Job* Find(const std::string& id);
  void Refuse(const std::string& id, Refusal refusal);
  void RefuseAndErase(const std::string& id, Refusal refusal);
  void ContinueSupervisors();
  void SupervisorEnded(pid_t pid, int wait_status);
  // Ended jobs that the agent has forgotten go.
  void EraseForgotten();
  void SweepNow();
  bool Quiet() const;
  // Those that wait for a command included.
  std::vector<pid_t> Supervisors() const;

  Channel& channel_;
  const std::string workspace_;
  Spare spare_;
  Jobs jobs_;
  bool sweeping_ = false;
  std::chrono::steady_clock::time_point next_sweep_;
  std::chrono::milliseconds sweep_interval_{0};
  std::chrono::steady_clock::time_point next_look_at_inputs_;
  // Where the last look stopped, having told of enough.
  std::string looked_up_to_;
};

}  // namespace sandkeep::init
