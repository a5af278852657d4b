// The running agent: builds its parts in the order in which they need each other, takes over what
// runs already, serves until SIGTERM or SIGINT, and leaves the sandboxes running; until SIGUSR1,
// and stops them first.
#pragma once

#include "absl/status/status.h"
#include "agent/settings.h"

namespace sandkeep {

// Returns when it has ended, or with why it couldn't start.
absl::Status RunAgent(const AgentSettings& settings);

}  // namespace sandkeep
