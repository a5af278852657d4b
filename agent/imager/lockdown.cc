#include "agent/imager/lockdown.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "common/limits.h"
#include "common/sanitizers.h"
#include "common/syscall_filter.h"

namespace sandkeep {
namespace {

int Limit(__rlimit_resource resource, rlim_t most) {
  const rlimit limit{most, most};
  return ::setrlimit(resource, &limit) == 0 ? 0 : errno;
}

int LimitResources() {
  // Whoever waits for a command comes first. So much more than whoever started this has: nobody may
  // have less than he has.
  constexpr int kNicer = 10;
  errno = 0;
  if (::nice(kNicer) == -1 && errno != 0) return errno;
  if (const int error = Limit(RLIMIT_CPU, kImagerCpuSeconds); error != 0) return error;
  if (const int error = Limit(RLIMIT_CORE, 0); error != 0) return error;
  // The sanitizers' shadow is terabytes of addresses, and they look for leaks in /proc at the end.
  if (kSanitized) return 0;
  if (const int error = Limit(RLIMIT_AS, kImagerMemoryBytes); error != 0) return error;
  return Limit(RLIMIT_NOFILE, 0);
}

}  // namespace

int GiveUpAll() {
  if (const int error = LimitResources(); error != 0) return error;
  if (!kSanitized && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  SyscallFilter filter;
  // A file in, a picture out, and why there is none.
  filter.AllowIf(SCMP_SYS(read), ArgumentIs(0, STDIN_FILENO));
  filter.AllowIf(SCMP_SYS(write), ArgumentIs(0, STDOUT_FILENO));
  filter.AllowIf(SCMP_SYS(write), ArgumentIs(0, STDERR_FILENO));
  // Memory, which can't be run, and the C library.
  filter.AllowIf(SCMP_SYS(mmap), ArgumentLacks(2, PROT_EXEC));
  filter.Allow({SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
                SCMP_SYS(futex), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
                SCMP_SYS(restart_syscall), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill),
                SCMP_SYS(exit), SCMP_SYS(exit_group)});
  // On some processors libjpeg-turbo asks /proc/cpuinfo what they can, and does without it.
  filter.Refuse(SCMP_SYS(openat), EPERM);
  return filter.Load();
}

}  // namespace sandkeep
