// Runs podman: an environment of ours, at most kMaxEngineCalls at once, a deadline on every call.
// What a call said is for the log; what is true is asked by another call (podman's prose changes).
// Thread-safe; calls resume on the caller's executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime/podman_command.h"
#include "agent/runtime/podman_options.h"
#include "agent/runtime/process.h"
#include "common/async.h"
#include "common/limits.h"

namespace sandkeep {

class Gate;

class Podman {
 public:
  Podman(const boost::asio::any_io_executor& executor, const PodmanOptions& options);
  ~Podman();
  Podman(const Podman&) = delete;
  Podman& operator=(const Podman&) = delete;

  // FailedPrecondition with the remedy: there is no podman. Unavailable: it didn't answer in time.
  // An engine all of whose processes were killed refuses every call until its records are set
  // right: that is done here, and the call made again.
  Async<ProcessResult> Call(Arguments arguments,
                            std::chrono::milliseconds deadline = kEngineDeadline);

  // As Call, for one that takes no lock of the engine's and maybe minutes: it isn't counted, and
  // one waits for another.
  Async<ProcessResult> CallBeside(Arguments arguments, std::chrono::milliseconds deadline);

  // As Call, for a call that only reads: its standard output, or Unavailable. Tried twice.
  Async<std::string> Read(Arguments arguments);

  // For `podman … exists`, whose exit code is the answer.
  Async<bool> Exists(std::string_view kind, std::string name);

 private:
  Async<ProcessResult> CallOnce(std::shared_ptr<Gate> gate, Arguments arguments,
                                std::chrono::milliseconds deadline);
  Async<ProcessResult> MendAndCall(Arguments arguments, std::chrono::milliseconds deadline);

  const std::string program_;
  const Arguments global_arguments_;
  const std::vector<std::string> environment_;
  const std::shared_ptr<Gate> gate_;  // For every call but those beside.
  const std::shared_ptr<Gate> beside_;
  const std::shared_ptr<Gate> mender_;  // For who sets the engine right.
};

// Unavailable, for the log: which call failed, and how.
absl::Status EngineFailure(std::string_view call, const ProcessResult& result);

}  // namespace sandkeep
