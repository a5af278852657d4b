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
  const bool may_be_ended = MayBeEnded(view.activity, limits.background, now);
  if (may_be_ended && Passed(view.state_since, limits.stop_after, now)) return LifeStep::kStop;
  const bool waits = !may_be_ended && view.for_room && place_free;
  return waits || (view.has_place && now >= view.retry_due) ? LifeStep::kResume : LifeStep::kNone;
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
    case SandboxState::kBroken:
      return now >= view.retry_due ? LifeStep::kSettle : LifeStep::kNone;
    default:
      return LifeStep::kNone;
  }
}

}  // namespace sandkeep
