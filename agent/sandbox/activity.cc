#include "agent/sandbox/activity.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"

namespace sandkeep {
namespace {

// The infinite duration stays that: the clock's own arithmetic would overflow.
bool IsOlder(Clock::Monotonic since, absl::Duration than, Clock::Monotonic now) {
  return absl::FromChrono(now - since) >= than;
}

bool Interrupted(const Activity& activity) { return activity.calls > 0 || activity.holds > 0; }

}  // namespace

bool IsBusy(const Activity& activity) {
  return Interrupted(activity) || activity.running_jobs > 0 || activity.left_behind > 0;
}

bool MayBeEnded(const Activity& activity, absl::Duration background, Clock::Monotonic now) {
  if (Interrupted(activity) || activity.running_jobs > 0) return false;
  return activity.left_behind == 0 || IsOlder(activity.left_since, background, now);
}

std::optional<Clock::Monotonic> IdleSince(const Activity& activity, absl::Duration background,
                                          Clock::Monotonic now) {
  if (!MayBeEnded(activity, background, now)) return std::nullopt;
  Clock::Monotonic since = std::max(activity.last_call, activity.last_hold);
  if (activity.left_behind > 0) {
    since = std::max(since, activity.left_since + absl::ToChronoNanoseconds(background));
  }
  return since;
}

bool Yields(const Activity& activity, Clock::Monotonic now) {
  if (Interrupted(activity)) return false;
  if (activity.running_jobs == 0) return true;
  const Clock::Monotonic last = std::max(activity.last_call, activity.last_hold);
  return IsOlder(last, absl::FromChrono(kHandedBackHold), now);
}

HoldCount::Now HoldCount::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void HoldCount::Add(int by) {
  const std::lock_guard lock(mutex_);
  now_.count += by;
  now_.last = clock_.Steady();
}

std::shared_ptr<void> MakeHold(std::shared_ptr<HoldCount> count) {
  count->Add(1);
  HoldCount* const held = count.get();
  return std::shared_ptr<void>(held, [count = std::move(count)](void*) { count->Add(-1); });
}

}  // namespace sandkeep
