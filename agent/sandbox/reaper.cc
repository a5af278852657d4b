#include "agent/sandbox/reaper.h"

#include <optional>

namespace sandkeep {
namespace {

bool Passed(Clock::Monotonic since, absl::Duration time, Clock::Monotonic now) {
  return absl::FromChrono(now - since) >= time;
}

LifeStep DueWhileRunning(const SandboxView& view, const ManagerLimits& limits,
                         Clock::Monotonic now) {
  const auto since = IdleSince(view.activity, limits.background, now);
  if (!since || !Passed(*since, limits.idle, now)) return LifeStep::kNone;
  return limits.recycle_removes ? LifeStep::kRemove : LifeStep::kFreeze;
}

// Only what is idle is stopped by the clock; what was frozen to make room waits for a place.
LifeStep DueWhileFrozen(const SandboxView& view, const ManagerLimits& limits, Clock::Monotonic now,
                        bool place_free) {
  if (!MayBeEnded(view.activity, limits.background, now)) {
    return view.for_room && place_free ? LifeStep::kResume : LifeStep::kNone;
  }
  return Passed(view.state_since, limits.stop_after, now) ? LifeStep::kStop : LifeStep::kNone;
}

}  // namespace

LifeStep Due(const SandboxView& view, const ManagerLimits& limits, Clock::Monotonic now,
             bool place_free) {
  switch (view.snapshot.state) {
    case SandboxState::kRunning:
      return DueWhileRunning(view, limits, now);
    case SandboxState::kFrozen:
      return DueWhileFrozen(view, limits, now, place_free);
    case SandboxState::kStopped:
      return Passed(view.state_since, limits.keep, now) ? LifeStep::kRemove : LifeStep::kNone;
    default:
      return LifeStep::kNone;
  }
}

}  // namespace sandkeep
