#include "agent/client/in_flight.h"

namespace sandkeep {

bool InFlight::Add(Call* call) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  calls_.insert(call);
  return true;
}

void InFlight::Remove(Call* call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
  // Under the lock: the waiter destroys us as soon as it sees the set empty.
  if (calls_.empty()) empty_.notify_all();
}

void InFlight::CancelAllAndWait() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Call* call : calls_) call->Cancel();
  empty_.wait(lock, [this] { return calls_.empty(); });
}

}  // namespace sandkeep
