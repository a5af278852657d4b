// The time, so that tests can set it. Wall time is for what people and links see; monotonic time is
// for every deadline. Implementations are thread-safe.
#pragma once

#include <chrono>

#include "absl/time/time.h"

namespace sandkeep {

class Clock {
 public:
  using Monotonic = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
  virtual Monotonic Steady() const = 0;
};

// The machine's clocks.
Clock& SystemClock();

}  // namespace sandkeep
