// What PodmanRuntime shares between its parts: the options, podman, and what has been learnt of
// this host and its running containers. Thread-safe.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "agent/runtime/container_init.h"
#include "agent/runtime/podman.h"
#include "agent/runtime/podman_output.h"

namespace sandkeep {

// The pid and a pidfd of its own: what an init is signalled and found by.
struct KnownInit {
  pid_t pid = 0;
  UniqueFd pidfd;
};

class PodmanEngine {
 public:
  PodmanEngine(const boost::asio::any_io_executor& executor, PodmanOptions options);

  const PodmanOptions& options() const { return options_; }
  Podman& podman() { return podman_; }
  boost::asio::any_io_executor blocking() { return blocking_.get_executor(); }

  // Asked once.
  Async<EngineVersion> Version();

  // How sandboxes reach the network. FailedPrecondition with the remedy: not on this host, or not
  // now.
  Async<NetworkHelper> Network();

  // Whether what `internet` denies is denied now: to be asked before anything may use the network.
  // A filter that follows a change of this machine's addresses has some seconds for it.
  Async<void> CheckNetwork();

  HostLimits Limits() const;

  // The folder of all volumes, learnt from `volume` the first time. NotFound: no such volume.
  Async<std::string> Volumes(EngineName volume);
  // The same when no volume need be left.
  Async<std::string> VolumesFolder();
  void LearnVolumes(const std::string& folder);

  // NotFound: there is no such container, or it isn't ours.
  Async<InspectedContainer> Inspect(EngineName container);

  // Why a start failed, from what is there: image, disk; else `failure` itself.
  Async<void> Diagnose(absl::Status failure);

  void Remember(const EngineName& container, const ContainerInit& init);
  void Forget(const EngineName& container);
  // Empty: unknown.
  KnownInit Find(const EngineName& container) const;

 private:
  const PodmanOptions options_;
  Podman podman_;
  boost::asio::thread_pool blocking_{1};
  std::atomic<bool> denied_ = false;  // When it was looked at last.
  // Guards what stands below it.
  mutable std::mutex mutex_;
  std::optional<EngineVersion> version_;
  std::string volumes_;
  absl::flat_hash_map<EngineName, KnownInit> inits_;
};

}  // namespace sandkeep
