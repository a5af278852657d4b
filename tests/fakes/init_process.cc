#include "tests/fakes/init_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "agent/init/channel_fds.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "tests/fakes/patience.h"

namespace sandkeep {
namespace {

using std::chrono::steady_clock;

// A subordinate range that owns nothing here; used by whoever may map it.
constexpr unsigned kFirstSubordinateId = 100000;
constexpr unsigned kSubordinateIds = 65536;
constexpr std::chrono::milliseconds kLook{1};

// A sandbox's root, as agent/runtime asks the engine for it.
constexpr std::array kCapabilities = {CAP_CHOWN,  CAP_DAC_OVERRIDE,     CAP_FOWNER,
                                      CAP_FSETID, CAP_SETUID,           CAP_SETGID,
                                      CAP_KILL,   CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT};

// What the child needs, made before it is: another thread of the test may hold malloc's lock.
struct Plan {
  int executable = -1;
  int go = -1;       // One byte: the ids are mapped.
  int failure = -1;  // Closed by exec, or takes a Failure.
  char* const* arguments = nullptr;
};

struct Failure {
  int error = 0;
  char step[32] = {};
};

[[noreturn]] void Fail(const Plan& plan, const char* step) {
  Failure failure;
  failure.error = errno;
  std::copy_n(step, std::min(std::char_traits<char>::length(step), sizeof failure.step - 1),
              failure.step);
  (void)!::write(plan.failure, &failure, sizeof failure);
  ::_exit(EXIT_FAILURE);
}

void DropCapabilities() {
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    const auto* end = std::end(kCapabilities);
    if (std::find(std::begin(kCapabilities), end, capability) == end) {
      ::prctl(PR_CAPBSET_DROP, capability);
    }
  }
}

// In the new namespaces. System calls only.
[[noreturn]] void BecomeInit(const Plan& plan) {
  char byte = 0;
  if (::read(plan.go, &byte, 1) != 1) ::_exit(EXIT_FAILURE);
  ::syscall(SYS_setgroups, 0, nullptr);  // Forbidden where a user mapped only himself.
  if (::syscall(SYS_setresgid, 0, 0, 0) != 0) Fail(plan, "setresgid");
  if (::syscall(SYS_setresuid, 0, 0, 0) != 0) Fail(plan, "setresuid");
  // After the ids, since a change of them forgets it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) Fail(plan, "private /");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    Fail(plan, "mount /proc");
  }
  ::mount("tmpfs", "/root", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700");
  DropCapabilities();
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, plan.executable, "", plan.arguments, environment, AT_EMPTY_PATH);
  Fail(plan, "exec");
}

bool WriteFile(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The host's id of the root inside.
absl::StatusOr<unsigned> MapIds(pid_t pid) {
  const std::string proc = StrCat("/proc/", pid, "/");
  const std::string range = StrCat("0 ", kFirstSubordinateId, " ", kSubordinateIds, "\n");
  if (WriteFile(proc + "uid_map", range) && WriteFile(proc + "gid_map", range)) {
    return kFirstSubordinateId;
  }
  WriteFile(proc + "setgroups", "deny");
  if (WriteFile(proc + "uid_map", StrCat("0 ", ::geteuid(), " 1\n")) &&
      WriteFile(proc + "gid_map", StrCat("0 ", ::getegid(), " 1\n"))) {
    return ::geteuid();
  }
  return absl::FailedPreconditionError("ids can't be mapped into a user namespace here");
}

absl::StatusOr<std::filesystem::path> MakeFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sandkeep-init-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return ErrnoStatus(errno, "mkdtemp");
  return std::filesystem::path(name);
}

absl::Status WaitForExec(int failures) {
  Failure failure;
  const ssize_t size = ::read(failures, &failure, sizeof failure);
  if (size == 0) return absl::OkStatus();
  if (size != static_cast<ssize_t>(sizeof failure)) return absl::InternalError("init didn't start");
  return absl::FailedPreconditionError(
      StrCat(failure.step, ": ", std::string(::strerror(failure.error))));
}

}  // namespace

absl::StatusOr<std::unique_ptr<InitProcess>> InitProcess::Start(const Options& options) {
  std::unique_ptr<InitProcess> init(new InitProcess());
  init->workspace_ = options.workspace;
  init->own_workspace_ = options.workspace.empty();
  if (init->own_workspace_) {
    ASSIGN_OR_RETURN(init->workspace_, MakeFolder());
  }
  const UniqueFd executable(::open(SANDKEEP_INIT_EXECUTABLE, O_RDONLY | O_CLOEXEC));
  if (!executable) return ErrnoStatus(errno, SANDKEEP_INIT_EXECUTABLE);
  int go[2];
  int failure[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe2");
  UniqueFd go_read(go[0]);
  const UniqueFd go_write(go[1]);
  if (::pipe2(failure, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe2");
  const UniqueFd failure_read(failure[0]);
  UniqueFd failure_write(failure[1]);
  std::string workspace = init->workspace_.string();
  std::string arguments[] = {"sandkeep-init", "--workspace", workspace};
  char* const pointers[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  const Plan plan{executable.get(), go_read.get(), failure_write.get(), pointers};

  constexpr unsigned long kFlags =
      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | SIGCHLD;
  const long pid = ::syscall(SYS_clone, kFlags, nullptr, nullptr, nullptr, 0);
  if (pid == 0) BecomeInit(plan);
  if (pid < 0) {
    return absl::FailedPreconditionError(
        StrCat("no user and pid namespace: ", std::string(::strerror(errno))));
  }
  init->pid_ = static_cast<pid_t>(pid);
  init->pidfd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!init->pidfd_) return ErrnoStatus(errno, "pidfd_open");
  go_read.Reset();
  failure_write.Reset();
  ASSIGN_OR_RETURN(const unsigned root, MapIds(init->pid_));
  if (::chown(workspace.c_str(), root, root) != 0 && ::geteuid() == 0) {
    return ErrnoStatus(errno, "chown");
  }
  if (::write(go_write.get(), "g", 1) != 1) return ErrnoStatus(errno, "write");
  RETURN_IF_ERROR(WaitForExec(failure_read.get()));
  return init;
}

InitProcess::~InitProcess() {
  Kill();
  std::error_code ignored;
  if (own_workspace_) std::filesystem::remove_all(workspace_, ignored);
}

void InitProcess::Kill() {
  if (!pidfd_) return;
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  ::waitpid(pid_, nullptr, 0);
  pidfd_.Reset();
}

UniqueFd InitProcess::PidFd() const { return UniqueFd(::fcntl(pidfd_.get(), F_DUPFD_CLOEXEC, 0)); }

absl::StatusOr<UniqueFd> InitProcess::TakeDescriptor(int number) const {
  UniqueFd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_.get(), number, 0)));
  if (!taken) return ErrnoStatus(errno, "pidfd_getfd");
  return taken;
}

// Init says by nothing but the channel's being there that it is ready: so it is looked for, as the
// agent does.
absl::StatusOr<UniqueFd> InitProcess::TakeChannel() const {
  const auto deadline = steady_clock::now() + kTestPatience;
  for (;;) {
    absl::StatusOr<UniqueFd> taken = TakeDescriptor(kAgentChannelFd);
    int type = 0;
    socklen_t size = sizeof type;
    if (taken.ok() && ::getsockopt(taken->get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
        type == SOCK_SEQPACKET) {
      return taken;
    }
    if (steady_clock::now() > deadline) return absl::DeadlineExceededError("init has no channel");
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace sandkeep
