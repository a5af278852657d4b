#include "agent/sandbox/capacity.h"

#include <chrono>

#include "agent/sandbox/registry.h"
#include "common/limits.h"
#include "common/pause.h"
#include "common/strings.h"

namespace sandkeep {
Async<void> Capacity::Admit(PrincipalId principal) {
  Refused refused;
  const auto patience = std::chrono::steady_clock::now() + kRoomPatience;
  while (!TryTake()) {
    std::shared_ptr<Sandbox> victim = Victim(refused);
    if (!victim) {
      if (std::chrono::steady_clock::now() >= patience) co_return AllBusy(principal);
      refused.clear();
      co_await Pause(kRoomPoll);
      continue;
    }
    // Its place is anybody's once it is free: if another call takes it, the next one is asked.
    const absl::StatusOr<bool> made = co_await victim->MakeRoom();
    if (!made.ok() || !*made) refused.insert(std::move(victim));
  }
  co_return absl::OkStatus();
}

bool Capacity::TryTake() {
  const std::lock_guard lock(mutex_);
  if (used_ >= max_running_) return false;
  ++used_;
  return true;
}

void Capacity::TakeOver() {
  const std::lock_guard lock(mutex_);
  ++used_;
}

void Capacity::Release() {
  const std::lock_guard lock(mutex_);
  --used_;
}

int Capacity::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::shared_ptr<Sandbox> Capacity::Victim(const Refused& refused) const {
  std::shared_ptr<Sandbox> oldest;
  absl::Time oldest_use = absl::InfiniteFuture();
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const SandboxView view = sandbox->View();
    const bool candidate = view.snapshot.state == SandboxState::kRunning && !view.snapshot.busy &&
                           !refused.contains(sandbox);
    if (!candidate || view.snapshot.last_used >= oldest_use) continue;
    oldest = sandbox;
    oldest_use = view.snapshot.last_used;
  }
  return oldest;
}

absl::Status Capacity::AllBusy(const PrincipalId& principal) const {
  int own = 0;
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const SandboxView view = sandbox->View();
    // One that waits for a place, as the caller's does, is busy and has none.
    const bool has_place = view.snapshot.state == SandboxState::kRunning;
    if (has_place && view.snapshot.busy && sandbox->principal() == principal) ++own;
  }
  return absl::ResourceExhaustedError(
      StrCat("all ", max_running_, " sandboxes that may run at once are busy with commands (", own,
             " of them yours): try again in a minute, or stop one of your commands first"));
}

}  // namespace sandkeep
