// The one loop of PID 1: waits for the agent, for children and for what is due, and never ends.
#pragma once

#include "absl/status/status.h"
#include "agent/init/channel.h"
#include "agent/init/job_table.h"
#include "agent/init/port_watch.h"
#include "common/unique_fd.h"

namespace sandkeep::init {

class Loop {
 public:
  // SIGCHLD must be blocked.
  static absl::StatusOr<Loop> Make(Channel& channel, JobTable& jobs);

  [[noreturn]] void Run();

 private:
  Loop(Channel& channel, JobTable& jobs, UniqueFd children)
      : channel_(&channel), jobs_(&jobs), children_(std::move(children)) {}

  void Turn();
  // For poll.
  int Timeout() const;
  void TakeRequests();
  void TakeChildren();
  void TellPorts();

  Channel* channel_;
  JobTable* jobs_;
  UniqueFd children_;
  PortWatch ports_;
  bool told_ = true;
  // The channel had room, and the kernel no memory.
  bool starved_ = false;
  bool agent_can_speak_ = true;
};

}  // namespace sandkeep::init
