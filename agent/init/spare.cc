#include "agent/init/spare.h"

#include <utility>

namespace sandkeep::init {

void Spare::Make() {
  int error = 0;
  supervisor_ = Supervisor::ForkSpare(workspace_, error);
  // At the limit of processes the next attempt waits for the end of one.
  wanted_ = false;
}

std::optional<Supervisor> Spare::Take() {
  wanted_ = true;
  return std::exchange(supervisor_, std::nullopt);
}

void Spare::ChildEnded(pid_t ended) {
  if (ended == pid()) supervisor_.reset();
  wanted_ = !supervisor_.has_value();
}

}  // namespace sandkeep::init
