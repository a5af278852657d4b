#include "gateway/self_sandbox.h"

#include <sys/prctl.h>

#include <cerrno>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/this_process.h"

namespace sandkeep {

absl::Status GiveUpPrivileges() {
  RETURN_IF_ERROR(HideMemory());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "PR_SET_NO_NEW_PRIVS");
  }
  return absl::OkStatus();
}

}  // namespace sandkeep
