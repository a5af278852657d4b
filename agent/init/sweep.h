// Ends whole trees of processes, against whatever is in them: what ignores SIGTERM, what forks
// faster than it is killed, what left its session. A sweep is one bounded turn; the caller comes
// again until nothing is left, so that a fork bomb in one job doesn't keep the others waiting.
#pragma once

#include <sys/types.h>

#include <vector>

namespace sandkeep::init {

struct SweepTargets {
  // Whose descendants die. They themselves live on, to reap them.
  std::vector<pid_t> supervisors;
  // Also what PID 1 inherited from supervisors that were killed: its children but for these.
  bool orphans = false;
  std::vector<pid_t> living_supervisors;
};

struct SweepResult {
  bool found = false;    // Something was alive, and was killed or is dying.
  bool orphans = false;  // Of that, something that no supervisor holds.
};

SweepResult Sweep(const SweepTargets& targets);

// One signal to everything below `supervisor`, once.
void SignalBelow(pid_t supervisor, int signal);

}  // namespace sandkeep::init
