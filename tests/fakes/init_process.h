// The real sandkeep-init as PID 1 of namespaces of its own (user, pid, mount), with the
// capabilities of a sandbox's root: what a container is to init, without an engine. For tests of
// init, and for FakeRuntime, whose containers they are.
//
// Start may be called from any thread that outlives the init: the init is killed with that thread,
// and with this object. What runs inside sees the host's file system, read as an unprivileged user.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace sandkeep {

class InitProcess {
 public:
  struct Options {
    // Where commands start; it is given to the root inside. Empty: a new folder, removed at the
    // end.
    std::filesystem::path workspace;
  };

  // FailedPrecondition: this machine has no user namespaces for us; the message is a test's reason
  // to skip.
  static absl::StatusOr<std::unique_ptr<InitProcess>> Start(const Options& options);
  static absl::StatusOr<std::unique_ptr<InitProcess>> Start() { return Start(Options()); }

  ~InitProcess();
  InitProcess(const InitProcess&) = delete;
  InitProcess& operator=(const InitProcess&) = delete;

  // In this process's numbering.
  pid_t pid() const { return pid_; }
  // A descriptor of the caller's own.
  UniqueFd PidFd() const;
  // The agent's end of the channel, taken with pidfd_getfd: the same end for every caller, as for
  // one agent after another.
  absl::StatusOr<UniqueFd> TakeChannel() const;
  // Any descriptor of init's, by its number there.
  absl::StatusOr<UniqueFd> TakeDescriptor(int number) const;

  const std::filesystem::path& workspace() const { return workspace_; }

  // As the engine does: every process of the sandbox dies with it. Done by the destructor too.
  void Kill();

 private:
  InitProcess() = default;

  pid_t pid_ = 0;
  UniqueFd pidfd_;
  std::filesystem::path workspace_;
  bool own_workspace_ = false;
};

}  // namespace sandkeep
