// How a command ended. A value, never an error: absl::Status says that *we* could not do our work,
// Outcome says what the *command* did, however badly.
//
// Made once by JobTable when the command's process is gone, then only read. Plain data; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sandkeep {

enum class Ending {
  kExited,       // `code` is the exit status, 0-255
  kSignalled,    // `code` is the signal; shells show 128 + code
  kTimedOut,     // our deadline; the whole tree was killed; shown as 124, as coreutils timeout does
  kCancelled,    // the caller's wish, or the caller left (2026-07-28 clients)
  kOutOfMemory,  // memory.events counted a kill while it ran alone (cgroup v2 only)
  kPidLimit,     // pids.events: it could not fork, and ran alone
  kDiskFull,     // paused or ended because the disk floor was reached
  kSandboxGone,  // removed or crashed underneath; `remedy` says what is left
  kHostRestarted,  // the machine or the agent's unit went down with it
  kAgentFault,     // our own failure; the journal has the request id
};

struct Outcome {
  Ending ending = Ending::kExited;
  int code = 0;

  // True when the command had printed a prompt and was blocked reading fd 0 at the moment it was
  // judged.
  bool waiting_for_input = false;
  // Processes of this command that live on (started with `&`, nohup, setsid). Killed only on
  // timeout or cancel.
  int left_behind = 0;

  std::chrono::milliseconds wall{0};
  std::int64_t output_bytes = 0;   // all that was printed, kept or not
  std::int64_t dropped_bytes = 0;  // of those, between the kept head and the kept tail

  // One line for the model: what happened and what to do about it. Empty when the ending speaks for
  // itself.
  std::string remedy;
};

// The exit code that a shell would report: 0-255, 124 for a timeout, 128 + n for a signal.
int ShellExitCode(const Outcome& outcome);

}  // namespace sandkeep
