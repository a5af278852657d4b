// Removes volumes, and what they held in its own time. Asked to remove one with a million files,
// podman takes a minute or more, and has forgotten it before it begins: ended on its way, it leaves
// files that nobody knows of. So it finds nothing to delete: the volume's folder is set aside first
// (removed_folder.h), comes back if podman refuses, and is emptied by Empty. Thread-safe.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agent/runtime/podman_engine.h"
#include "agent/runtime/removed_folder.h"
#include "common/async.h"

namespace sandkeep {

class VolumeRemoval {
 public:
  explicit VolumeRemoval(PodmanEngine& engine) : engine_(engine) {}

  // As ContainerRuntime's RemoveVolume and EmptyRemoved.
  Async<void> Remove(EngineName volume);
  Async<void> Empty();

  // Of the engine's volumes, those that an agent's death has left aside get their data back.
  // Blocking.
  void PutBack(const std::vector<ListedVolume>& listed);

 private:
  class Moving;

  Async<void> RemoveAside(EngineName volume);
  Async<void> Settle(std::string volumes, EngineName volume);
  boost::asio::awaitable<RemovedVolumes> List(std::string volumes);
  bool IsMoving(const EngineName& volume) const;

  PodmanEngine& engine_;
  mutable std::mutex mutex_;
  std::set<EngineName> moving_;  // Removals that are under way.
};

}  // namespace sandkeep
