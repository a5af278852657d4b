// How long a test waits for what must come before it says that it doesn't. It ends only what would
// never end, so it has nothing to do with how fast anything is: two minutes, since a build for a
// sanitizer on a busy machine got a hundredth of a core. Time that a test promises about is named
// where it is checked.
#pragma once

#include <chrono>

namespace sandkeep {

inline constexpr std::chrono::seconds kTestPatience{120};
// For poll().
inline constexpr int kTestPatienceMs = 120'000;

}  // namespace sandkeep
