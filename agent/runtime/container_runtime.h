// What the sandbox manager may ask of a container engine. PodmanRuntime is the real one,
// FakeRuntime the one that tests script; tests/contract runs the same suite over both, and only
// what passes on both is promised.
//
// Calls are asynchronous and resume on the caller's executor. They are idempotent: creating what
// exists, starting what runs and removing what is gone succeed, since after a crash nobody knows
// how far the last call came. Calls for one object never overlap: the manager holds one lock a
// sandbox. Nothing here takes an image name, a mount or an engine flag: those are the operator's,
// fixed at construction.
//
// Errors: ResourceExhausted (disk), FailedPrecondition (image or engine missing, host not ready;
// the message has the remedy), Unavailable (engine not answering, try again), DeadlineExceeded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/async.h"
#include "common/ids.h"
#include "common/unique_fd.h"

namespace sandkeep {

enum class ContainerState { kRunning, kFrozen, kStopped, kUnknown };

// A container that bears this agent's instance, in whatever state: the ground truth that Recover
// reconciles with.
struct ContainerRecord {
  EngineName name;
  EngineName volume;
  ContainerState state = ContainerState::kUnknown;
};

// A volume of this agent's instance, with the binding text that stands beside its data (empty: none
// could be read).
struct VolumeRecord {
  EngineName name;
  std::string binding;
};

// An image of ours that was replaced by a newer one, and that no container is made of any more.
struct OldImage {
  std::string id;  // Hex.
  std::int64_t bytes = 0;
};

struct EngineObjects {
  std::vector<ContainerRecord> containers;
  std::vector<VolumeRecord> volumes;
};

// What the kernel has counted against a container as a whole: why a command died.
struct KernelCounts {
  std::uint64_t oom_kills = 0;
  std::uint64_t failed_forks = 0;  // At the limit of processes.
  std::int64_t memory_max = 0;     // Bytes; 0: no limit.
};

// A container whose init runs. `channel` is the agent's end of init's socket pair, taken from it by
// pidfd_getfd.
struct RunningContainer {
  EngineName name;
  std::string hostname;
  pid_t init_pid = 0;  // On the host.
  UniqueFd init_pidfd;
  UniqueFd channel;
  // Now; quick, from any thread. Empty: this host can't tell (no cgroup v2).
  std::function<std::optional<KernelCounts>()> counts;
  // Whether its processes stand still now, whoever had them do so. As `counts`.
  std::function<bool()> is_frozen;
  // By this start: what an earlier one had installed isn't in it.
  bool made_anew = false;
};

// What the engine and the host can do, found by probing.
struct EngineInfo {
  std::string engine;      // Name and version, for people.
  std::string network;     // How sandboxes reach the network: pasta, slirp4netns, none.
  bool cgroup_v2 = false;  // Limits land, freezing is the kernel's.
  // Whether the kernel holds sandboxes to SANDBOX_DISK, or why not; nothing: it is no limit.
  std::optional<absl::Status> disk_quota;
  std::vector<std::string>
      problems;  // Why nothing can be started, each with its remedy. Empty: it can.
};

class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  virtual Async<EngineInfo> Probe() = 0;

  // Creates the volume and writes `binding` beside its data, where nothing inside the sandbox can
  // reach it.
  virtual Async<void> CreateVolume(EngineName volume, std::string binding) = 0;

  // Writes another binding beside a volume that exists.
  virtual Async<void> BindVolume(EngineName volume, std::string binding) = 0;

  // An O_PATH descriptor of the volume's data, for the file process. The agent itself can't read
  // what is below.
  virtual Async<UniqueFd> OpenVolume(EngineName volume) = 0;

  // The same of the folder in which `diff` is what a container has written outside its volume:
  // packages, mostly. NotFound: no such container, or its storage has no layers as we know them.
  virtual Async<UniqueFd> OpenLayer(EngineName container) = 0;

  // Creates and starts a container around its volume, or starts the stopped one of that name; done
  // when the channel to its init is taken.
  virtual Async<RunningContainer> Start(EngineName container, EngineName volume,
                                        std::string hostname) = 0;

  // Takes the channel of a container that runs already, after a restart of the agent. NotFound: it
  // doesn't run.
  virtual Async<RunningContainer> Attach(EngineName container) = 0;

  // Ends every process and keeps the writable layer, so that installed packages survive.
  virtual Async<void> Stop(EngineName container) = 0;

  // Removes the container, running or not, and all that was made for it, even if there is no
  // container any more. The volume is never touched: only RemoveVolume does
  // that.
  virtual Async<void> Remove(EngineName container) = 0;

  // Suspends or resumes every process. Unimplemented where the host can't. Thawing what runs
  // changes nothing. FailedPrecondition: as Start, where the network isn't what it should be.
  virtual Async<void> Freeze(EngineName container) = 0;
  virtual Async<void> Thaw(EngineName container) = 0;

  virtual Async<EngineObjects> ListOurs() = 0;

  // Takes no longer however much it holds: its files are out of everybody's reach then, and go by
  // EmptyRemoved. FailedPrecondition: in use, and as it was.
  virtual Async<void> RemoveVolume(EngineName volume) = 0;

  // Deletes what removed volumes held, by whichever agent, which may take minutes; what a failure
  // leaves is the next call's. One call at a time.
  virtual Async<void> EmptyRemoved() = 0;

  virtual Async<std::vector<OldImage>> ListOldImages() = 0;
  // FailedPrecondition: in use, or another name of it is.
  virtual Async<void> RemoveImage(std::string id) = 0;
};

// A volume's data, or a container's layer: no two of them have one name.
inline Async<UniqueFd> OpenTree(ContainerRuntime& runtime, EngineName name) {
  absl::StatusOr<UniqueFd> tree = co_await runtime.OpenVolume(name);
  if (!absl::IsNotFound(tree.status())) co_return tree;
  co_return co_await runtime.OpenLayer(std::move(name));
}

}  // namespace sandkeep
