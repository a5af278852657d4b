// What the gateway gives up before it reads a byte of anybody's.
#pragma once

#include "absl/status/status.h"

namespace sandkeep {

// No core files and no ptrace (they would show keys), no new privileges by any program. To be
// called before the first thread.
absl::Status GiveUpPrivileges();

}  // namespace sandkeep
