#include "gateway/self_sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

#include "common/status_codes.h"

namespace sandkeep {

absl::Status GiveUpPrivileges() {
  const rlimit no_core = {0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_core) != 0) return ErrnoStatus(errno, "RLIMIT_CORE");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return ErrnoStatus(errno, "PR_SET_DUMPABLE");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "PR_SET_NO_NEW_PRIVS");
  }
  return absl::OkStatus();
}

}  // namespace sandkeep
