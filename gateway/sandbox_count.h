// How many sandboxes a principal has, asked of the agent by the `keys` command, which has no
// io_context of its own. Blocks until the agent has answered or its deadline is over.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace sandkeep {

// Unavailable: the agent isn't there.
absl::StatusOr<int> CountSandboxes(const std::string& agent_socket, const std::string& principal);

}  // namespace sandkeep
