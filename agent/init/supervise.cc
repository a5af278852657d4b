#include "agent/init/supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "agent/init/hand_over.h"
#include "agent/init/process_tree.h"
#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

constexpr const char* kShell = "/bin/bash";

// Evaluates the text on descriptor 3, so that the command stands in no argument vector. The name is
// unset first: were it exported by the caller, the text would reach the environment of every child.
// `|| :` because read says 1 at the end of the file, and the caller may have asked for errexit.
#define SANDKEEP_EVAL_COMMAND                                                 \
  "unset -v __sandkeep; IFS= read -r -d '' -u 3 __sandkeep || :; exec 3<&-; " \
  "eval \"$__sandkeep\""
constexpr const char* kScript = SANDKEEP_EVAL_COMMAND;

// Before that, a shell that stands by waits for a byte. Without one nobody is left who could give
// it a command. How long it stood by is none of the command's business.
constexpr const char* kStandbyScript =
    "IFS= read -r -n 1 -u 5 __sandkeep || kill -HUP $$; exec 5<&-; "
    "SECONDS=0; " SANDKEEP_EVAL_COMMAND;
#undef SANDKEEP_EVAL_COMMAND

// When memory runs out the kernel should choose a command, never what reports on it.
constexpr char kCommandOomScore[] = "300";

constexpr pid_t kNoCommand = 0;

// Sources are above kReportFd, since init holds everything up to it; so `ready` may stand where it
// belongs, and goes there last.
void TakeReportFd(int reports, int ready = -1) {
  ::dup3(reports, kReportFd, O_CLOEXEC);
  if (ready >= 0) {
    ::dup2(ready, kReadyFd);
    ::fcntl(kReadyFd, F_SETFD, 0);
  }
  // The channel and other jobs' pipes go: a writer kept here would be an end that never comes.
  ::close_range(ready < 0 ? kReadyFd : kReadyFd + 1, ~0U, 0);
}

void ArrangeDescriptors(const CommandSetup& setup, int reports) {
  if (setup.stdin_read >= 0) ::dup2(setup.stdin_read, STDIN_FILENO);
  ::dup2(setup.stdout_write, STDOUT_FILENO);
  ::dup2(setup.stderr_write >= 0 ? setup.stderr_write : setup.stdout_write, STDERR_FILENO);
  ::dup2(setup.command, kCommandFd);
  TakeReportFd(reports, setup.ready);
}

void Send(const Report& report) { ::send(kReportFd, &report, sizeof report, MSG_NOSIGNAL); }

bool EnterFolder(const char* workspace, const char* folder) {
  if (::chdir(workspace) != 0) return false;
  return *folder == '\0' || ::chdir(folder) == 0;
}

// The score that this process has while it spawns, since the command inherits it.
class OomScore {
 public:
  OomScore() {
    const UniqueFd file(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
    // Out of the way of the command's.
    file_.Reset(::fcntl(file.get(), F_DUPFD_CLOEXEC, kReadyFd + 1));
    const ssize_t size = file_ ? ::pread(file_.get(), own_.data(), own_.size(), 0) : 0;
    own_size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  }

  void BecomeCommands() const { Write({kCommandOomScore, sizeof kCommandOomScore - 1}); }
  void BecomeOwn() const { Write({own_.data(), own_size_}); }

 private:
  // Without /proc there is no score, and no other harm.
  void Write(std::string_view score) const {
    if (own_size_ != 0) (void)!::pwrite(file_.get(), score.data(), score.size(), 0);
  }

  UniqueFd file_;
  std::array<char, 16> own_;
  std::size_t own_size_ = 0;
};

// What differs from one shell to the next.
struct Shell {
  const char* folder;
  char* const* environment;
  bool standby;
};

void Nothing(int /*signal*/) {}

// A fault's signal: handled, it would come again for ever.
constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

// What init ignores, this catches and does nothing: exec resets what is caught, so that the command
// has every signal as a program expects it and nobody spends a call on each. Faults stay ignored.
void CatchSignals() {
  struct sigaction action{};
  action.sa_handler = &Nothing;
  action.sa_flags = SA_RESTART;
  for (int number = 1; number < NSIG; ++number) {
    const bool fault = std::find(kFaults.begin(), kFaults.end(), number) != kFaults.end();
    if (number != SIGCHLD && !fault) ::sigaction(number, &action, nullptr);
  }
}

// In the memory of the supervisor, which waits: system calls only.
[[noreturn]] void BecomeShell(const Shell& shell, volatile int* error) {
  char* const arguments[] = {const_cast<char*>("bash"), const_cast<char*>("-l"),
                             const_cast<char*>("-c"),
                             const_cast<char*>(shell.standby ? kStandbyScript : kScript), nullptr};
  ::setsid();
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (const int number : kFaults) ::sigaction(number, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(kShell, arguments, shell.environment);
  *error = errno;
  ::_exit(EXIT_FAILURE);
}

// The shell in a session of its own. Its pid, or kNoCommand and an errno. By vfork and not
// posix_spawn, which makes two system calls for each signal there is.
pid_t SpawnShell(const Shell& shell, int& error) {
  // Read again after the child wrote it.
  volatile int failure = 0;
  const pid_t pid = ::vfork();
  if (pid == 0) BecomeShell(shell, &failure);
  error = pid < 0 ? errno : failure;
  return error == 0 ? pid : kNoCommand;
}

[[noreturn]] void Refuse(Report::Kind kind, int error) {
  Send({.kind = kind, .value = error});
  ::_exit(EXIT_SUCCESS);
}

// What a supervisor is before it knows its command.
void Prepare() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "sandkeep-job");
  CatchSignals();
}

// Reports the command's pid, or that there is none.
pid_t StartCommand(const char* workspace, const Shell& shell, const OomScore& score) {
  if (!EnterFolder(workspace, shell.folder)) Refuse(Report::Kind::kBadFolder, errno);
  int error = 0;
  score.BecomeCommands();
  const pid_t pid = SpawnShell(shell, error);
  score.BecomeOwn();
  if (error == EAGAIN || error == ENOMEM) Refuse(Report::Kind::kCannotFork, error);
  if (error != 0) Refuse(Report::Kind::kNoShell, error);
  Send({.kind = Report::Kind::kStarted, .value = pid});
  return pid;
}

// Once the command itself has been reaped. True: nothing is left of its tree, and init knows.
bool ReportExit(int status) {
  Report report{.kind = Report::Kind::kExited, .value = status};
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(-1, nullptr, WNOHANG | __WALL);
  } while (reaped > 0);
  report.gone = reaped < 0 ? 1 : 0;
  if (report.gone == 0) {
    report.left_behind = static_cast<int>(ProcessTree::Snapshot().LivingBelow({::getpid()}).size());
  }
  Send(report);
  return report.gone != 0;
}

// Returns when nothing of the tree is left; ends where that can't be said with the command's exit.
void Reap(pid_t command) {
  // The command has them now; a reader must see the end when the last of the tree is gone.
  ::close_range(STDIN_FILENO, kCommandFd, 0);
  ::close(kReadyFd);
  (void)!::chdir("/");
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, __WALL);
    if (pid < 0 && errno != EINTR) ::_exit(EXIT_SUCCESS);
    if (pid == command && ReportExit(status)) return;
  }
}

// The command's descriptors find their numbers free.
[[noreturn]] void ServeOrders(const char* workspace, const OomScore& score) {
  HandOver order;
  for (;;) {
    if (!order.Receive(kReportFd)) ::_exit(EXIT_FAILURE);
    Reap(StartCommand(
        workspace,
        {.folder = order.folder(), .environment = order.environment(), .standby = order.standby()},
        score));
  }
}

}  // namespace

void Supervise(CommandSetup& setup, int reports) {
  ArrangeDescriptors(setup, reports);
  Prepare();
  const OomScore score;
  const std::vector<char*> environment = setup.environment.Pointers();
  Reap(StartCommand(setup.workspace.c_str(),
                    {.folder = setup.folder.c_str(),
                     .environment = environment.data(),
                     .standby = setup.ready >= 0},
                    score));
  ServeOrders(setup.workspace.c_str(), score);
}

void WaitAndSupervise(const std::string& workspace, int reports) {
  TakeReportFd(reports);
  Prepare();
  const OomScore score;
  ::close_range(STDIN_FILENO, kCommandFd, 0);
  ServeOrders(workspace.c_str(), score);
}

}  // namespace sandkeep::init
