#include "agent/client/in_flight.h"

namespace sandkeep {

bool InFlight::Add(Call* call) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  calls_.insert(call);
  ++running_;
  return true;
}

void InFlight::Remove(Call* call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
}

void InFlight::Done() {
  const std::lock_guard lock(mutex_);
  // Under the lock: the waiter goes on as soon as it sees that nothing runs.
  if (--running_ == 0) idle_.notify_all();
}

void InFlight::CancelAllAndWait() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Call* call : calls_) call->Cancel();
  idle_.wait(lock, [this] { return running_ == 0; });
}

}  // namespace sandkeep
