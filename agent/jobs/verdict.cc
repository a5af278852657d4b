#include "agent/jobs/verdict.h"

#include <signal.h>
#include <sys/wait.h>

#include <utility>

#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr int kCannotRun = 126;
constexpr int kKilledCode = 137;

constexpr std::string_view kPerhapsMemory =
    "it was killed with SIGKILL, most often because memory ran out (this host can't say: it has no "
    "cgroup v2 for sandboxes): use less at once, or work in smaller parts";
constexpr std::string_view kKilledUnseen =
    "it was killed with SIGKILL while the agent was away, so that nobody can say why; most often "
    "memory ran out: use less at once, or work in smaller parts";

// Of a signal that we didn't send. Deaths for memory are told apart by the kernel's counters.
std::string_view RemedyOf(int signal) {
  switch (signal) {
    case SIGKILL:
      return "it was killed with SIGKILL, by something that runs in this sandbox";
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
      return "a fault in the program itself ended it: try other input or another version of it, or "
             "run it under a debugger";
    case SIGABRT:
      return "the program gave up by itself: its last lines say why";
    case SIGSYS:
      return "a system call was refused to it by a filter of its own, or because it is a 32-bit "
             "program: look for an option without that filter, or a 64-bit build";
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
      return "most likely a timer that it had set itself ended it: allow it more time there";
    case SIGPIPE:
      return "it wrote to a pipe that nobody reads any more: let the reader take all, or stop it "
             "at what you need";
    case SIGXCPU:
    case SIGXFSZ:
      return "a limit that was set by ulimit ended it: raise that";
    default:
      return "a caller, or something that runs in this sandbox, sent it that signal: see what "
             "kills "
             "by name or by group";
  }
}

std::string LimitWords(std::int64_t bytes) {
  if (bytes <= 0) return {};
  constexpr std::int64_t kMebibyte = 1 << 20;
  constexpr std::int64_t kGibibyte = 1 << 30;
  if (bytes % kGibibyte == 0) return StrCat(" at ", bytes / kGibibyte, " GiB");
  return StrCat(" at ", bytes / kMebibyte, " MiB");
}

// The kernel doesn't say whose process it was.
Outcome WithHint(Outcome outcome, const KernelCounts& before, const KernelCounts& after) {
  if (after.oom_kills > before.oom_kills) {
    outcome.remedy =
        StrCat("while it ran the sandbox ran out of memory", LimitWords(after.memory_max),
               " and a process was killed, of this command or of another that ran "
               "beside it: run fewer at once");
  } else if (after.failed_forks > before.failed_forks && ShellExitCode(outcome) != 0) {
    outcome.remedy =
        "while it ran the sandbox's limit of processes was reached, by this command or by another "
        "that ran beside it: run fewer at once";
  }
  return outcome;
}

// A shell whose own process was spared reports what it waited for in its exit code.
Outcome WithCause(Outcome outcome, const KernelCounts& before, const KernelCounts& after) {
  const bool killed = ShellExitCode(outcome) == kKilledCode;
  if (after.oom_kills > before.oom_kills && killed) {
    outcome.ending = Ending::kOutOfMemory;
    outcome.code = kKilledCode;
    outcome.remedy = StrCat("killed for memory", LimitWords(after.memory_max),
                            ": process fewer rows at once, or ask the operator for more");
  } else if (after.oom_kills > before.oom_kills) {
    outcome.remedy = StrCat("one of its processes was killed for memory",
                            LimitWords(after.memory_max), ": use less at once");
  } else if (after.failed_forks > before.failed_forks && ShellExitCode(outcome) != 0) {
    outcome.code = ShellExitCode(outcome);
    outcome.ending = Ending::kPidLimit;
    outcome.remedy =
        "it couldn't start more processes, since the sandbox's limit was reached: run fewer at "
        "once, or end what runs in the background";
  }
  return outcome;
}

}  // namespace

Outcome OutcomeOfWaitStatus(int wait_status, bool asked) {
  Outcome outcome;
  if (WIFEXITED(wait_status)) {
    outcome.code = WEXITSTATUS(wait_status);
    return outcome;
  }
  outcome.ending = Ending::kSignalled;
  outcome.code = WTERMSIG(wait_status);
  if (!asked) outcome.remedy = std::string(RemedyOf(outcome.code));
  return outcome;
}

Outcome WithKernelCause(Outcome outcome, const std::optional<KernelCounts>& before,
                        const std::optional<KernelCounts>& after, bool alone) {
  if (before.has_value() && after.has_value()) {
    return alone ? WithCause(std::move(outcome), *before, *after)
                 : WithHint(std::move(outcome), *before, *after);
  }
  if (ShellExitCode(outcome) == kKilledCode) {
    outcome.remedy = std::string(after.has_value() ? kKilledUnseen : kPerhapsMemory);
  }
  return outcome;
}

Outcome OutcomeOfLostSupervisor() {
  Outcome outcome;
  outcome.ending = Ending::kSignalled;
  outcome.code = SIGKILL;
  outcome.remedy =
      "something in the sandbox killed the process that watched over this command, so all of its "
      "processes were ended: don't kill processes that aren't yours";
  return outcome;
}

Outcome OutcomeOfTimeout(absl::Duration limit, bool waiting_for_input) {
  Outcome outcome;
  outcome.ending = Ending::kTimedOut;
  outcome.code = ShellExitCode(outcome);
  outcome.waiting_for_input = waiting_for_input;
  outcome.remedy =
      waiting_for_input
          ? StrCat("it waited for input until its time limit of ", absl::ToInt64Seconds(limit),
                   " s ended it: pass the answers on stdin, or use an option that asks nothing")
          : StrCat("its time limit of ", absl::ToInt64Seconds(limit),
                   " s ended it and all of its processes: allow it more time, or run it in the "
                   "background");
  return outcome;
}

Outcome OutcomeOfRefusal(const absl::Status& why) {
  Outcome outcome;
  outcome.remedy = std::string(why.message());
  if (absl::IsResourceExhausted(why)) {
    outcome.ending = Ending::kPidLimit;
    outcome.code = kCannotRun;
  } else if (absl::IsInvalidArgument(why)) {
    outcome.code = kCannotRun;
  } else {
    outcome.ending = Ending::kAgentFault;
  }
  return outcome;
}

Outcome WithFullDisk(Outcome outcome, std::int64_t kept_bytes) {
  outcome.code = ShellExitCode(outcome);
  outcome.ending = Ending::kDiskFull;
  outcome.remedy = StrCat("the host's disk is full: output after byte ", kept_bytes,
                          " waits until there is room; free space in the workspace");
  return outcome;
}

}  // namespace sandkeep
