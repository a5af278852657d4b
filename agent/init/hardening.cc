#include "agent/init/hardening.h"

#include <grp.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep::init {
namespace {

// Any id that isn't root's: nogroup, which nothing in a Debian image has as its only group.
constexpr gid_t kForeignGid = 65534;
constexpr unsigned kPidOne = 1;
constexpr unsigned kPidBits = 0xffffffff;

// prlimit(2) lets a process set another's limits when all ids of the two are equal, and RLIMIT_CPU
// kills PID 1. The filter names PID 1 alone: a filter can't know the caller's own pid, and
// `prlimit --pid $$` is a process that sets its parent's limits. The kernel takes the pid as an
// int, so its lower half decides. By libseccomp, which costs 110 KiB on disk and none that is
// resident, and not by instructions of our own: it knows each architecture's calls.
absl::Status RefusePrlimitOnInit() {
  const std::unique_ptr<void, void (*)(void*)> filter(::seccomp_init(SCMP_ACT_ALLOW),
                                                      ::seccomp_release);
  if (filter == nullptr) return absl::ResourceExhaustedError("seccomp_init");
  // A second system call table would be a second way: its calls don't exist.
  int error = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  if (error == 0) {
    const scmp_arg_cmp names_init{0, SCMP_CMP_MASKED_EQ, kPidBits, kPidOne};
    error = ::seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                                     &names_init);
  }
  if (error == 0) error = ::seccomp_load(filter.get());
  return error == 0 ? absl::OkStatus() : ErrnoStatus(-error, "seccomp");
}

// The second lock on the same door. A namespace with a single group has no other to take: there the
// filter stands alone.
absl::Status TakeForeignSavedGid() {
  const gid_t keep = static_cast<gid_t>(-1);
  if (::setresgid(keep, keep, kForeignGid) == 0 || errno == EINVAL || errno == EPERM) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "setresgid");
}

}  // namespace

absl::Status Harden() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "no_new_privs");
  RETURN_IF_ERROR(TakeForeignSavedGid());
  RETURN_IF_ERROR(RefusePrlimitOnInit());
  // Last: a change of ids may set it again.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return ErrnoStatus(errno, "PR_SET_DUMPABLE");
  return absl::OkStatus();
}

void IgnoreSignals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGCHLD) ::signal(number, SIG_IGN);
  }
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child, nullptr);
}

}  // namespace sandkeep::init
