// What the gateway gives up before it reads a byte of anybody's: GiveUpPrivileges first of all,
// then Confine when its database is open and it listens, before the first thread. From then on it
// reads and writes its own folder, serves the connections that come to its port, and speaks to the
// agent's socket; it can't start a program, open another file, connect to an address or make memory
// executable. A forbidden system call ends the process, a forbidden path is refused.
#pragma once

#include "absl/status/status.h"
#include "gateway/landlock.h"

namespace sandkeep {

// No core files and no ptrace (they would show keys), no new privileges by any program.
absl::Status GiveUpPrivileges();

// Without Landlock in the kernel the rest holds, and a line of the log says so.
absl::Status Confine(const Reach& reach);

}  // namespace sandkeep
