#include "gateway/self_sandbox.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "common/log.h"
#include "common/sanitizers.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/syscall_filter.h"
#include "common/this_process.h"

namespace sandkeep {
namespace {

void AllowSockets(SyscallFilter* filter) {
  // There is no bind and no listen: the port was taken before. A new socket is the agent's or
  // systemd's; TCP comes by accept alone.
  filter->Allow({SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(connect), SCMP_SYS(getpeername),
                 SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
                 SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(setsockopt), SCMP_SYS(shutdown)});
  filter->AllowIf(SCMP_SYS(socket), ArgumentIs(0, AF_UNIX));
  filter->AllowIf(SCMP_SYS(socketpair), ArgumentIs(0, AF_UNIX));
  filter->Allow({SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_pwait),
                 SCMP_SYS(epoll_wait), SCMP_SYS(eventfd2), SCMP_SYS(pipe2), SCMP_SYS(poll),
                 SCMP_SYS(ppoll), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime)});
  filter->AllowIf(SCMP_SYS(ioctl), ArgumentIs(1, FIONBIO));
  filter->AllowIf(SCMP_SYS(ioctl), ArgumentIs(1, FIONREAD));
}

void AllowFiles(SyscallFilter* filter) {
  // The database, and what the agent hands over to be sent. Which files: Landlock says.
  filter->Allow(
      {SCMP_SYS(access),    SCMP_SYS(close),      SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
       SCMP_SYS(fadvise64), SCMP_SYS(fchmod),     SCMP_SYS(fdatasync), SCMP_SYS(fstat),
       SCMP_SYS(fsync),     SCMP_SYS(ftruncate),  SCMP_SYS(getcwd),    SCMP_SYS(lseek),
       SCMP_SYS(lstat),     SCMP_SYS(newfstatat), SCMP_SYS(open),      SCMP_SYS(openat),
       SCMP_SYS(pread64),   SCMP_SYS(preadv2),    SCMP_SYS(pwrite64),  SCMP_SYS(read),
       SCMP_SYS(readlink),  SCMP_SYS(readlinkat), SCMP_SYS(readv),     SCMP_SYS(sendfile),
       SCMP_SYS(stat),      SCMP_SYS(unlink),     SCMP_SYS(unlinkat),  SCMP_SYS(write),
       SCMP_SYS(writev)});
  for (const int command : {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK,
                            F_SETLKW, F_OFD_GETLK, F_OFD_SETLK}) {
    filter->AllowIf(SCMP_SYS(fcntl), ArgumentIs(1, static_cast<std::uint64_t>(command)));
  }
}

void AllowMemoryAndThreads(SyscallFilter* filter) {
  filter->Allow(
      {SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap), SCMP_SYS(membarrier)});
  filter->AllowIf(SCMP_SYS(mmap), ArgumentLacks(2, PROT_EXEC));
  filter->AllowIf(SCMP_SYS(mprotect), ArgumentLacks(2, PROT_EXEC));
  // A thread is no process. clone3 hides its flags behind a pointer, and the C library goes on
  // without it.
  filter->AllowIf(SCMP_SYS(clone), ArgumentHas(0, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND));
  filter->Refuse(SCMP_SYS(clone3), ENOSYS);
  filter->Allow({SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(futex), SCMP_SYS(getpid),
                 SCMP_SYS(gettid), SCMP_SYS(restart_syscall), SCMP_SYS(rseq),
                 SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
                 SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam),
                 SCMP_SYS(sched_getscheduler), SCMP_SYS(sched_yield), SCMP_SYS(set_robust_list)});
  // What abort() does.
  filter->AllowIf(SCMP_SYS(tgkill), ArgumentIs(0, static_cast<std::uint64_t>(::getpid())));
  filter->AllowIf(SCMP_SYS(prctl), ArgumentIs(0, PR_SET_NAME));
  // As root, SQLite gives its files to the owner of the database.
  filter->Refuse(SCMP_SYS(fchown), EPERM);
}

void AllowQuestions(SyscallFilter* filter) {
  filter->Allow({SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
                 SCMP_SYS(getegid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getrandom),
                 SCMP_SYS(getrlimit), SCMP_SYS(gettimeofday), SCMP_SYS(getuid), SCMP_SYS(nanosleep),
                 SCMP_SYS(sysinfo), SCMP_SYS(uname)});
}

absl::Status FilterCalls() {
  SyscallFilter filter;
  AllowSockets(&filter);
  AllowFiles(&filter);
  AllowMemoryAndThreads(&filter);
  AllowQuestions(&filter);
  const int error = filter.Load();
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "seccomp");
}

void Report(int landlock) {
  if (landlock >= kLandlockWhole) {
    Log(Severity::kInfo, "gateway.confined", {{"landlock", landlock}, {"seccomp", true}});
    return;
  }
  Log(Severity::kWarning, "gateway.confined",
      {{"landlock", landlock},
       {"wanted", kLandlockWhole},
       {"seccomp", true},
       {"remedy", landlock == 0 ? "boot a kernel with Landlock, and with `landlock` in lsm="
                                : "a newer kernel confines it further"}});
}

}  // namespace

absl::Status GiveUpPrivileges() {
  RETURN_IF_ERROR(HideMemory());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "PR_SET_NO_NEW_PRIVS");
  }
  return absl::OkStatus();
}

absl::Status Confine(const Reach& reach) {
  if (kSanitized) {
    Log(Severity::kWarning, "gateway.unconfined", {{"why", "built with a sanitizer"}});
    return absl::OkStatus();
  }
  // Its settings of the machine, which it would otherwise look for at its first use, in vain.
  ::OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, nullptr);
  ASSIGN_OR_RETURN(const int landlock, RestrictReach(reach));
  RETURN_IF_ERROR(FilterCalls());
  Report(landlock);
  return absl::OkStatus();
}

}  // namespace sandkeep
