// A clock that stands still until a test moves it. Wall time and monotonic time move together.
// Thread-safe.
#pragma once

#include <mutex>

#include "common/clock.h"

namespace sandkeep {

class FakeClock : public Clock {
 public:
  absl::Time Now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  Monotonic Steady() const override {
    const std::lock_guard lock(mutex_);
    return steady_;
  }

  void Advance(absl::Duration by) {
    const std::lock_guard lock(mutex_);
    now_ += by;
    steady_ += absl::ToChronoNanoseconds(by);
  }
  // Only the wall clock: somebody set the date.
  void SetWallClock(absl::Time now) {
    const std::lock_guard lock(mutex_);
    now_ = now;
  }

 private:
  mutable std::mutex mutex_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  Monotonic steady_ = Monotonic(std::chrono::hours(1));
};

}  // namespace sandkeep
