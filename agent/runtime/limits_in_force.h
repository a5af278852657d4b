// The limits of a container that runs, as the kernel has them: read back after its start, and put
// right where they are not what was asked for. An engine of another version, or one that was told
// otherwise by its own configuration, changes nothing then. Blocking, but only on the kernel's
// files; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime/cgroup.h"

namespace sandkeep {

struct WantedLimits {
  CgroupSupport cgroup;
  std::int64_t memory_bytes = 0;
  int cpus = 0;
  int processes = 0;           // Of the group.
  std::int64_t shm_bytes = 0;  // 0: whatever it is.
  // Of each process inside, and so of init.
  std::int64_t max_files = 0;
  std::int64_t max_processes = 0;  // 0: the group's limit is the one.
};

// What wasn't as wanted, each in words: `memory.max was max` if it is put right, with `, and still
// is: WHY` if it isn't. `group` below `root`, as ContainerCgroup gives it; empty: it has none.
// `init` is the container's, held by its caller.
std::vector<std::string> PutLimitsRight(const std::string& root, const std::string& group,
                                        pid_t init, const WantedLimits& wanted);

// The size of /dev/shm in the text of /proc/<init>/mountinfo; 0: none is told.
std::int64_t ShmBytes(std::string_view mountinfo);

}  // namespace sandkeep
