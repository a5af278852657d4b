// JOBS_DISK: all that is kept of commands' output is bounded, and who holds more than an equal
// share of it loses their own oldest first. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/sandbox/sandbox.h"

namespace sandkeep {

// The sandbox whose oldest output goes next. Null: there is room, or nothing can go.
std::shared_ptr<Sandbox> NextToLoseOutput(const std::vector<std::shared_ptr<Sandbox>>& all,
                                          std::int64_t limit);

// When nothing ended is left to lose: the sandbox whose running commands hold most, of the
// principal that holds most. nullptr: all output together is within the limit, or none of it is a
// running command's.
std::shared_ptr<Sandbox> NextToNarrow(const std::vector<std::shared_ptr<Sandbox>>& all,
                                      std::int64_t limit);

}  // namespace sandkeep
