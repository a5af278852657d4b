#include "common/this_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

#include "common/status_codes.h"

namespace sandkeep {

absl::Status HideMemory() {
  const rlimit no_core = {0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_core) != 0) return ErrnoStatus(errno, "RLIMIT_CORE");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return ErrnoStatus(errno, "PR_SET_DUMPABLE");
  return absl::OkStatus();
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace sandkeep
