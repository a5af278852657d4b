// Everything a sandbox's root may try on PID 1, and what must go on working beside it. A line each:
// `name: ok` or `name: <errno's name>`.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

constexpr pid_t kInit = 1;
constexpr int kChannelFds[] = {3, 4};

void Say(const char* name, long result) {
  std::printf("%s: %s\n", name, result >= 0 ? "ok" : ::strerrorname_np(errno));
}

void TryProc(const char* name, const char* path, int flags) {
  const int fd = ::open(path, flags);
  char byte = 0;
  Say(name, fd < 0 ? -1 : ::read(fd, &byte, 1));
}

}  // namespace

int main() {
  const rlimit one_second{1, 1};
  rlimit now{};
  Say("prlimit of init", ::prlimit(kInit, RLIMIT_CPU, &one_second, nullptr));
  // The kernel takes the lower half of the register as the pid.
  Say("prlimit of init, dressed up",
      ::syscall(SYS_prlimit64, 0x100000001L, RLIMIT_CPU, &one_second, nullptr));
  Say("ptrace", ::ptrace(PTRACE_SEIZE, kInit, nullptr, nullptr));
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, kInit, 0));
  for (const int fd : kChannelFds) Say("pidfd_getfd", ::syscall(SYS_pidfd_getfd, pidfd, fd, 0));
  Say("setns", ::setns(pidfd, CLONE_NEWPID | CLONE_NEWNS));
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(0x400000), 1};
  Say("process_vm_readv", ::process_vm_readv(kInit, &here, 1, &there, 1, 0));
  TryProc("environ", "/proc/1/environ", O_RDONLY);
  TryProc("mem", "/proc/1/mem", O_RDWR);
  TryProc("fd", "/proc/1/fd/4", O_RDWR);
  for (int number = 1; number < NSIG; ++number) ::kill(kInit, number);
  ::kill(kInit, SIGKILL);

  Say("prlimit of oneself", ::prlimit(0, RLIMIT_CORE, nullptr, &now));
  Say("prlimit of oneself by number", ::prlimit(::getpid(), RLIMIT_CORE, nullptr, &now));
  Say("prlimit of the parent", ::prlimit(::getppid(), RLIMIT_CORE, nullptr, &now));
  return 0;
}
