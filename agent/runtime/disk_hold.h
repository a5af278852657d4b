// Has the kernel hold sandboxes to SANDBOX_DISK where it can (disk_quota.h): their volumes before
// they are made, their containers' layers between creation and the first start. What it can't hold
// it leaves to those who look. Thread-safe.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/runtime/podman_engine.h"
#include "common/async.h"

namespace sandkeep {

class DiskHold {
 public:
  explicit DiskHold(PodmanEngine& engine) : engine_(engine) {}

  // Nothing: there is no limit to hold to. Else whether it holds, or why not.
  boost::asio::awaitable<std::optional<absl::Status>> State();

  // Before and after the engine is to make it.
  boost::asio::awaitable<void> HoldVolume(EngineName volume);
  boost::asio::awaitable<void> VolumeNotMade(EngineName volume);

  // Whether what is made for this volume is to be held, too.
  Async<bool> IsHeld(EngineName volume);

  // Of a container that was made just now, and never ran.
  boost::asio::awaitable<void> HoldLayer(EngineName container, EngineName volume);

 private:
  Async<void> ReplaceLayer(EngineName container, EngineName volume);

  PodmanEngine& engine_;
};

}  // namespace sandkeep
