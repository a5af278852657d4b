// The one place of the agent that starts processes: the engine's command line, newuidmap and
// newgidmap, sandkeep-files and sandkeep-imager. Never a shell, never fork(): a program by its
// absolute path, an argument vector, an environment of ours, a process group of its own, no
// descriptor but those that are named. Functions only; any thread.
//
// A program that fails is a ProcessResult, not an error. Errors say that it could not be started
// (NotFound: no such program) or that it outlived SIGKILL (DeadlineExceeded).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

struct ProcessCommand {
  std::string program;                   // Absolute path.
  std::vector<std::string> arguments;    // Without the program itself.
  std::vector<std::string> environment;  // NAME=value; nothing else is inherited.
};

struct ProcessResult {
  int exit_code = -1;  // -1: it was ended by `signal`.
  int signal = 0;
  bool timed_out = false;  // By us, at the deadline.
  // At most kMaxEngineOutputBytes each; what came after is dropped and `truncated` says so.
  std::string standard_output;
  std::string standard_error;
  bool truncated = false;

  bool succeeded() const { return exit_code == 0 && !timed_out; }
  // For the log: the ending, and the last line of standard error.
  std::string Summary() const;
};

// Runs it to its end: done when the process exits, whoever still holds its output. At the deadline
// its whole process group is killed. It reads `input`, or nothing.
Async<ProcessResult> RunProcess(ProcessCommand command, std::chrono::milliseconds deadline,
                                std::shared_ptr<const UniqueFd> input = nullptr);

// A descriptor that the new process finds under the number `target`; targets count up from 3.
struct PassedDescriptor {
  int descriptor;
  int target;
};

struct StartedProcess {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// Starts a process that lives beside us, until EndProcess. Standard output is /dev/null, standard
// error is ours (the journal).
absl::StatusOr<StartedProcess> StartProcess(const ProcessCommand& command,
                                            absl::Span<const PassedDescriptor> descriptors);

// Kills the process and its group, if it hasn't ended by itself, and reaps it on `executor` when it
// is gone.
void EndProcess(const boost::asio::any_io_executor& executor, StartedProcess process);

}  // namespace sandkeep
