// posix_spawn with everything explicit. Private to agent/runtime: process.h is what others use.
#pragma once

#include <vector>

#include "agent/runtime/process.h"

namespace sandkeep {

// Every descriptor of the new process: `descriptors` under their targets, which must be 0, 1, 2, …
// without a gap; all others are closed. Signals are at their defaults, the working directory is /,
// the process leads a group of its own.
absl::StatusOr<StartedProcess> SpawnProcess(const ProcessCommand& command,
                                            const std::vector<PassedDescriptor>& descriptors);

}  // namespace sandkeep
