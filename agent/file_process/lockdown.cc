#include "agent/file_process/lockdown.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/syscall_filter.h"

namespace sandkeep {
namespace {

int ErrnoUnless(bool succeeded) { return succeeded ? 0 : errno; }

int BecomeRootInside() {
  if (::setgroups(0, nullptr) != 0) return errno;
  if (::setresgid(0, 0, 0) != 0) return errno;
  return ErrnoUnless(::setresuid(0, 0, 0) == 0);
}

// What root of a sandbox may do to the files in it, and no more: read and write any, give one to
// its owner, remove from anybody's folder.
constexpr unsigned long kKept[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER};

int KeepOnlyFiles() {
  // The bounding set first: it takes CAP_SETPCAP to shrink it. The kernel ends the list.
  for (unsigned long capability = 0;; ++capability) {
    if (std::find(std::begin(kKept), std::end(kKept), capability) != std::end(kKept)) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      if (errno == EINVAL) break;
      return errno;
    }
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  for (const unsigned long kept : kKept) data[0].permitted |= 1U << kept;
  data[0].effective = data[0].permitted;
  return ErrnoUnless(::syscall(SYS_capset, &header, data) == 0);
}

int ForbidAll() {
  // Folders that are made for a file are as a program in the sandbox would make them.
  ::umask(022);
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return errno;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return ErrnoUnless(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}

}  // namespace

int EnterUserNamespace() { return ErrnoUnless(::unshare(CLONE_NEWUSER) == 0); }

int DropPrivileges() {
  if (const int error = BecomeRootInside(); error != 0) return error;
  if (const int error = KeepOnlyFiles(); error != 0) return error;
  return ForbidAll();
}

int LimitSystemCalls() {
  SyscallFilter filter;
  // Requests and replies.
  filter.Allow({SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg)});
  // Files below volumes. There is no open, no write to a file, no exec, no socket: what is written,
  // the agent writes.
  filter.Allow({SCMP_SYS(openat2), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
                SCMP_SYS(getdents64), SCMP_SYS(fcntl), SCMP_SYS(close), SCMP_SYS(lseek),
                SCMP_SYS(mkdirat), SCMP_SYS(linkat), SCMP_SYS(renameat2), SCMP_SYS(unlinkat),
                SCMP_SYS(fchmod), SCMP_SYS(fchown)});
  // Memory, which can't be run, and the C library.
  filter.Allow({SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
                SCMP_SYS(futex), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime),
                SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
                SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill), SCMP_SYS(exit),
                SCMP_SYS(exit_group)});
  filter.AllowIf(SCMP_SYS(mmap), ArgumentLacks(2, PROT_EXEC));
  // A log line.
  filter.AllowIf(SCMP_SYS(write), ArgumentIs(0, STDERR_FILENO));
  return filter.Load();
}

}  // namespace sandkeep
