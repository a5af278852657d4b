#include "common/clock.h"

#include "absl/time/clock.h"

namespace sandkeep {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  Monotonic Steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

Clock& SystemClock() {
  static RealClock clock;
  return clock;
}

}  // namespace sandkeep
