// What a process of ours settles about itself before its first thread.
#pragma once

#include "absl/status/status.h"

namespace sandkeep {

// No core file, and no tracing by others of its user: memory holds secrets.
absl::Status HideMemory();

// Descriptors up to the hard limit: the usual 1,024 are used up by connections and pipes long
// before any limit of ours.
void RaiseDescriptorLimit();

}  // namespace sandkeep
