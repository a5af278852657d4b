// The PID 1 of a running container, and the agent's end of the channel to it. Nothing that the
// container's processes do can put another process in its place: the pid comes from the engine, the
// kernel says that it is PID 1 of a namespace of its own and runs our program, and a pidfd holds on
// to it. Functions only; any thread.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "absl/status/status.h"
#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

struct ContainerInit {
  pid_t pid = 0;
  UniqueFd pidfd;
  UniqueFd channel;
};

// Takes the channel; waits while the engine's runtime is still becoming our init. NotFound: there
// is no such process. FailedPrecondition: the host forbids it (yama). Unavailable: it isn't our
// init, or it died.
Async<ContainerInit> TakeInit(pid_t pid);

// The text of /proc/<pid>/status says that it is PID 1 of a pid namespace below ours.
bool IsNamespaceInit(std::string_view proc_status);

// True until the process ended.
bool IsAlive(const UniqueFd& pidfd);

void KillProcess(const UniqueFd& pidfd);

}  // namespace sandkeep
