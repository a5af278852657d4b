// The supervisor that waits for the next command, so that no command waits for a fork. Made when
// init has nothing else to do; without one a command forks its own.
//
// Trust: what runs in the sandbox may kill it: then there is another.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

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
  // A child was reaped, this one or another: there may be room for one again.
  void ChildEnded(pid_t pid);

  // 0: there is none.
  pid_t pid() const { return supervisor_.has_value() ? supervisor_->pid() : 0; }

 private:
  const std::string workspace_;
  std::optional<Supervisor> supervisor_;
  bool wanted_ = true;
};

}  // namespace sandkeep::init
