// The places for running sandboxes (SANDBOX_MAX): counts them and makes room by removing the
// container of the least recently used one that isn't busy. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include "agent/sandbox/sandbox.h"

namespace sandkeep {

class Registry;

class Capacity {
 public:
  Capacity(const Registry& registry, int max_running)
      : registry_(registry), max_running_(max_running) {}

  // Takes a place for a sandbox of `principal`; given back by Release. ResourceExhausted: every one
  // is taken by a sandbox that stays busy for kRoomPatience (one whose command has just ended is
  // busy until its last process is gone); the message says how many and what to do.
  Async<void> Admit(PrincipalId principal);
  // A place for one that runs already, whatever the limit says.
  void TakeOver();
  void Release();

  int used() const;

 private:
  // Sandboxes that this call has asked in vain, held so that none takes another's address.
  using Refused = std::set<std::shared_ptr<Sandbox>>;

  bool TryTake();
  std::shared_ptr<Sandbox> Victim(const Refused& refused) const;
  absl::Status AllBusy(const PrincipalId& principal) const;

  const Registry& registry_;
  const int max_running_;
  mutable std::mutex mutex_;
  int used_ = 0;
};

}  // namespace sandkeep
