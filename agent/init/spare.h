// The supervisors that wait for a command, so that no command waits for a fork. One is made when
// init has nothing else to do. One whose whole tree is gone waits again, half as many of them as
// commands run, since a fork is most of what init does for a command. Without one a command forks
// its own.
//
// Trust: what runs in the sandbox may kill them: then there are others. Nothing of an earlier
// command is left in one: its descriptors are closed, and what it had of memory nobody inside
// reads.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent/init/supervisor.h"

namespace sandkeep::init {

class Spare {
 public:
  explicit Spare(std::string workspace) : workspace_(std::move(workspace)) {}

  // True: there is none, and no attempt failed since something changed.
  bool wanted() const { return wanted_; }
  void Make();

  // Nothing: there is none.
  std::optional<Supervisor> Take();
  // One that has said that nothing of its tree lives: it waits for the next.
  void GiveBack(Supervisor supervisor);
  // Ends those that are more than that.
  void Keep(std::size_t most);
  // A child was reaped, one of these or another: there may be room for one again.
  void ChildEnded(pid_t pid);

  const std::vector<Supervisor>& waiting() const { return waiting_; }

 private:
  const std::string workspace_;
  std::vector<Supervisor> waiting_;
  bool wanted_ = true;
};

}  // namespace sandkeep::init
