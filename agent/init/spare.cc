#include "agent/init/spare.h"

#include <utility>

namespace sandkeep::init {

void Spare::Make() {
  int error = 0;
  std::optional<Supervisor> made = Supervisor::ForkSpare(workspace_, error);
  // At the limit of processes the next attempt waits for the end of one.
  wanted_ = false;
  if (made.has_value()) waiting_.push_back(*std::move(made));
}

std::optional<Supervisor> Spare::Take() {
  if (waiting_.empty()) {
    wanted_ = true;
    return std::nullopt;
  }
  // The latest: the processor still knows it.
  Supervisor taken = std::move(waiting_.back());
  waiting_.pop_back();
  wanted_ = waiting_.empty();
  return taken;
}

void Spare::GiveBack(Supervisor supervisor) {
  waiting_.push_back(std::move(supervisor));
  wanted_ = false;
}

void Spare::Keep(std::size_t most) {
  if (waiting_.size() <= most) return;
  // Those that waited longest. Without init's end of their socket they end by themselves.
  waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(most));
}

void Spare::ChildEnded(pid_t pid) {
  std::erase_if(waiting_, [pid](const Supervisor& one) { return one.pid() == pid; });
  wanted_ = waiting_.empty();
}

}  // namespace sandkeep::init
