// Init's hold on one command: the process between PID 1 and the command, and what it reports. The
// supervisor is the subreaper of everything that the command starts, so a process belongs to a job
// exactly when it descends from that job's supervisor.
//
// It serves one command after the other, and never two at once: it takes the next when nothing of
// the last one's tree lives.
//
// Trust: a supervisor runs our code and can't be traced, but what runs in the sandbox may kill or
// stop it. Stopped, it is continued; killed, its tree is swept by whoever holds this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "agent/init/environment.h"
#include "common/unique_fd.h"

namespace sandkeep::init {

// What a supervisor says of a command, at most once each: that it couldn't start, or Started, then
// Exited. Its own end means that nothing of the tree lives any more, if that wasn't said with
// Exited.
struct Report {
  enum class Kind : std::int32_t { kBadFolder, kNoShell, kCannotFork, kStarted, kExited };
  Kind kind = Kind::kStarted;
  std::int32_t value = 0;  // An errno; the command's pid; its wait status.
  std::int32_t left_behind = 0;
  // With kExited: no process of the tree is left, and the supervisor waits for its next command.
  std::int32_t gone = 0;
};

struct CommandSetup {
  int command = -1;
  int ready = -1;       // A shell that stands by reads a byte here before it reads the command.
  int stdin_read = -1;  // -1: /dev/null
  int stdout_write = -1;
  int stderr_write = -1;  // -1: into stdout's
  std::string workspace;
  std::string folder;  // Relative to the workspace, or absolute; empty: the workspace.
  Environment environment;
};

class Supervisor {
 public:
  // Nothing: `error` has the errno.
  static std::optional<Supervisor> Fork(CommandSetup& setup, int& error);
  // One that waits for its command: most of what a start takes is done when it comes.
  static std::optional<Supervisor> ForkSpare(const std::string& workspace, int& error);

  // Gives one that waits its command. False: it can't be given, and wasn't.
  bool HandOver(const CommandSetup& setup);
  // It died before it took the command from its socket: nothing of that has begun.
  bool untaken() const;

  pid_t pid() const { return pid_; }
  // Readable when there is a report.
  int fd() const { return reports_.get(); }
  std::optional<Report> NextReport();

 private:
  struct Ends {
    UniqueFd ours;
    UniqueFd theirs;
  };
  static std::optional<Ends> MakeEnds(int& error);

  Supervisor(pid_t pid, UniqueFd reports, UniqueFd theirs)
      : pid_(pid), reports_(std::move(reports)), theirs_(std::move(theirs)) {}

  pid_t pid_;
  UniqueFd reports_;
  // Its end, kept to see whether the command is still in it.
  UniqueFd theirs_;
};

}  // namespace sandkeep::init
