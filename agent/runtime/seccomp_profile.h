// Which system calls what runs in a sandbox may make (SANDBOX_SECCOMP=strict): an allowlist, in the
// engine's JSON form. Everything that unprivileged programs, package managers, compilers, debuggers
// and servers use; nothing that makes namespaces or mounts, reaches keyrings, other address
// families than UNIX, INET, INET6 and NETLINK, asynchronous kernel queues, or the kernel itself.
// Functions only; any thread.
//
// What isn't allowed answers ENOSYS, as a kernel without it: libraries then fall back. No other
// architecture's calls: their numbers are a second door to the same rooms.
#pragma once

#include <string>

namespace sandkeep {

// For the architecture that this program is built for.
std::string SeccompProfile();

}  // namespace sandkeep
