#include "agent/sandbox/unjumping_clock.h"

#include <algorithm>

namespace sandkeep {

absl::Time UnjumpingClock::Now() const {
  const absl::Duration passed = absl::FromChrono(clock_.Steady() - began_steady_);
  // Clocks are set right by seconds all the time.
  return std::min(clock_.Now(), began_ + passed + absl::Minutes(1));
}

}  // namespace sandkeep
