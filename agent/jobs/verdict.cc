#include "agent/jobs/verdict.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr int kCannotRun = 126;

}  // namespace

Outcome OutcomeOfWaitStatus(int wait_status, bool asked) {
  Outcome outcome;
  if (WIFEXITED(wait_status)) {
    outcome.code = WEXITSTATUS(wait_status);
    return outcome;
  }
  outcome.ending = Ending::kSignalled;
  outcome.code = WTERMSIG(wait_status);
  if (outcome.code == SIGKILL && !asked) {
    outcome.remedy =
        "it was killed with SIGKILL, most often because memory ran out: use less at once, or work "
        "in smaller parts";
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
                   " s ended it and all of its processes: raise timeout_seconds, or run it in the "
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
