// The wall clock for what is lost if it is wrong: the age of files and sandboxes. From the moment
// at which it is made it goes no faster than the monotonic one, so that somebody who sets the date,
// or a machine that wakes with another, makes nothing older. Set back, it follows. Thread-safe.
#pragma once

#include "absl/time/time.h"
#include "common/clock.h"

namespace sandkeep {

class UnjumpingClock {
 public:
  // `clock` outlives it.
  explicit UnjumpingClock(const Clock& clock)
      : clock_(clock), began_(clock.Now()), began_steady_(clock.Steady()) {}

  absl::Time Now() const;

 private:
  const Clock& clock_;
  const absl::Time began_;
  const Clock::Monotonic began_steady_;
};

}  // namespace sandkeep
