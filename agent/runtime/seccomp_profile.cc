#include "agent/runtime/seccomp_profile.h"

#include <cstdint>
#include <string_view>

#include "common/strings.h"

namespace sandkeep {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "SCMP_ARCH_X86_64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "SCMP_ARCH_AARCH64";
#else
#error "say what the engine calls this architecture"
#endif

// Whatever their arguments. A name that this kernel doesn't have is passed over.
constexpr std::string_view kAllowed =
    "accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chmod "
    "chown chroot clock_getres clock_gettime clock_nanosleep close close_range connect "
    "copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait "
    "epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat "
    "faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl "
    "fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync "
    "ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_mempolicy "
    "get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid geteuid getgid "
    "getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom "
    "getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid "
    "gettimeofday getuid getxattr getxattrat inotify_add_watch inotify_init inotify_init1 "
    "inotify_rm_watch ioctl ioprio_get ioprio_set kill landlock_add_rule "
    "landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen "
    "listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lstat madvise "
    "map_shadow_stack mbind membarrier memfd_create mincore mkdir mkdirat mknod mknodat mlock "
    "mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_open mq_timedreceive "
    "mq_timedsend mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync munlock munlockall "
    "munmap nanosleep newfstatat open openat openat2 pause pidfd_getfd pidfd_open "
    "pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 "
    "preadv preadv2 prlimit64 process_madvise process_mrelease process_vm_readv "
    "process_vm_writev pselect6 ptrace pwrite64 pwritev pwritev2 read readahead readlink "
    "readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr removexattrat "
    "rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending "
    "rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
    "rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity "
    "sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity "
    "sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl semget "
    "semop semtimedop sendfile sendmmsg sendmsg sendto set_mempolicy set_robust_list "
    "set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid "
    "setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid "
    "setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 "
    "splice stat statfs statx symlink symlinkat sync sync_file_range sync_file_range2 syncfs "
    "sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime "
    "timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask "
    "uname unlink unlinkat utime utimensat utimes vfork wait4 waitid write writev";

// Flags of clone that make a namespace: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID,
// NEWNET. The calls that take the same flags where no filter can see them aren't allowed at all.
constexpr std::uint64_t kNamespaceFlags = 0x7e020000;

// AF_UNIX, AF_INET, AF_INET6, AF_NETLINK.
constexpr int kSocketFamilies[] = {1, 2, 10, 16};
constexpr int kPairFamilies[] = {1};

// Execution domains that change nothing but the layout of memory, and asking for the present one.
constexpr std::uint32_t kPersonalities[] = {0x0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff};

std::string Allow(std::string_view names, std::string_view arguments) {
  return StrCat("{\"names\":[", names, "],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[", arguments,
                "]}");
}

std::string FirstIs(std::uint64_t value) {
  return StrCat("{\"index\":0,\"value\":", value, ",\"op\":\"SCMP_CMP_EQ\"}");
}

std::string FirstHasNone(std::uint64_t bits) {
  return StrCat("{\"index\":0,\"value\":", bits, ",\"valueTwo\":0,\"op\":\"SCMP_CMP_MASKED_EQ\"}");
}

std::string Quoted(std::string_view names) {
  std::string quoted;
  for (const std::string_view name : Split(names, ' ')) {
    StrAppend(&quoted, quoted.empty() ? "\"" : ",\"", name, "\"");
  }
  return quoted;
}

}  // namespace

std::string SeccompProfile() {
  std::string calls = Allow(Quoted(kAllowed), "");
  StrAppend(&calls, ",", Allow(Quoted("clone"), FirstHasNone(kNamespaceFlags)));
  for (const int family : kSocketFamilies) {
    StrAppend(&calls, ",", Allow(Quoted("socket"), FirstIs(static_cast<std::uint64_t>(family))));
  }
  for (const int family : kPairFamilies) {
    StrAppend(&calls, ",",
              Allow(Quoted("socketpair"), FirstIs(static_cast<std::uint64_t>(family))));
  }
  for (const std::uint32_t persona : kPersonalities) {
    StrAppend(&calls, ",", Allow(Quoted("personality"), FirstIs(persona)));
  }
  constexpr int kNoSuchCall = 38;
  return StrCat("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":", kNoSuchCall,
                ",\"archMap\":[{\"architecture\":\"", kArchitecture,
                "\",\"subArchitectures\":[]}],\"syscalls\":[", calls, "]}\n");
}

}  // namespace sandkeep
