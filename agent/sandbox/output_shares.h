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

}  // namespace sandkeep
