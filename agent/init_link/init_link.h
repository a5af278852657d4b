// The agent's end of the channel to one sandbox's init: frames out, frames in, requests matched to
// jobs. Lives on the sandbox's strand.
//
// Init is hostile here: a frame that doesn't parse, names a job we don't know, comes out of order
// or carries descriptors it shouldn't breaks the link, and the sandbox with it (OnBroken, once).
// Nothing from init is ever a path, a command or a size that we allocate.
//
// Frames go out in order through a bounded queue; a call fails whole with ResourceExhausted when
// init doesn't read. Descriptors are ours until the kernel has taken them, then closed here.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "common/async.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/random.h"
#include "common/unique_fd.h"

namespace sandkeep {

// What init says about a job that it still has, after Hello.
struct InitJob {
  JobId id;
  bool exited = false;
  int wait_status = 0;
  bool gone = false;
  std::chrono::milliseconds exited_ago{0};
  // Ends taken back with pidfd_getfd, unchecked: the job knows which inode it expects. Not valid:
  // init keeps none.
  UniqueFd stdout_pipe;
  UniqueFd stderr_pipe;
  UniqueFd stdin_pipe;
};

struct InitStart {
  JobId id;
  std::string command;
  std::string cwd;
  std::vector<std::pair<std::string, std::string>> env;
  bool merge_streams = true;
  // Pipe ends for init. Which are there says what the command gets (proto/sandkeep/init/v1).
  UniqueFd stdout_write, stderr_write, stdout_read, stderr_read, stdin_read, stdin_write;
};

// A shell that is to wait for a command: the ends for init, and what the command will come by.
struct InitStandby {
  JobId id;
  UniqueFd stdout_write, stdout_read;
  UniqueFd text;   // A file.
  UniqueFd ready;  // A pipe's read end: its first byte says that the text is there.
};

// What init reports, on the strand, each after the one that must come before it: Started or
// Refused, Exited, Gone.
class InitEvents {
 public:
  virtual ~InitEvents() = default;
  virtual void OnStarted(const JobId& id) = 0;
  virtual void OnExited(const JobId& id, int wait_status, int left_behind,
                        bool supervisor_lost) = 0;
  virtual void OnGone(const JobId& id) = 0;
  virtual void OnWaiting(const JobId& id) = 0;
  // Any process of the sandbox began to listen on this TCP port.
  virtual void OnPortOpened(std::uint16_t port) = 0;
  // Init couldn't start it; `reason` is for the outcome's remedy.
  virtual void OnRefused(const JobId& id, absl::Status reason) = 0;
  // The link is over: the init died, or lied.
  virtual void OnBroken(absl::Status why) = 0;
};

class InitLink {
 public:
  virtual ~InitLink() = default;

  // Drains what an earlier agent left unread, says hello, and returns the jobs that init has. Once,
  // before anything else. DataLoss: init lied. FailedPrecondition: it speaks a version that this
  // agent doesn't. DeadlineExceeded: it said nothing.
  virtual Async<std::vector<InitJob>> Hello() = 0;
  // From here on events come: the caller has taken over what Hello returned.
  virtual void Listen() = 0;

  // Queues the command and everything it needs; OnStarted or OnRefused follows. InvalidArgument:
  // over the limits of the protocol.
  virtual absl::Status Start(InitStart start) = 0;
  // Has a shell made that waits. Events name it as they name a job, until it is used.
  virtual absl::Status StandBy(InitStandby shell) = 0;
  // It is this job from here on.
  virtual absl::Status Use(const JobId& standby, const JobId& id) = 0;
  // Init closes its copy of the write end of the job's stdin.
  virtual absl::Status EndInput(const JobId& id) = 0;
  virtual absl::Status Signal(const JobId& id, int signal, bool tree) = 0;
  // The end is recorded: init may close what it kept.
  virtual absl::Status Forget(const JobId& id) = 0;
  virtual absl::Status FreezeAll() = 0;
  virtual absl::Status ThawAll() = 0;

  virtual void Close() = 0;
};

// `events` outlives the link; once the link is closed or destroyed, none comes.
std::unique_ptr<InitLink> MakeInitLink(
    boost::asio::any_io_executor strand, RunningContainer container, InitEvents& events,
    Random& random, std::chrono::milliseconds hello_deadline = kInitHelloDeadline);

}  // namespace sandkeep
