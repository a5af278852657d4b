#include "agent/runtime/disk_hold.h"

#include <utility>

#include "agent/runtime/disk_quota.h"
#include "agent/runtime/layer_folder.h"
#include "agent/runtime/volume_folders.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Of what the container's layer is made of, before anything is in it.
struct LayerCopy {
  std::string layer;
  std::string folder;  // Of the volume's project.
};

}  // namespace

boost::asio::awaitable<std::optional<absl::Status>> DiskHold::State() {
  const std::int64_t bytes = engine_.options().disk_bytes;
  if (bytes == 0) co_return std::nullopt;
  const auto volumes = co_await engine_.VolumesFolder();
  if (!volumes.ok()) co_return volumes.status();
  auto check = [folder = *volumes, bytes] { return CheckQuota(folder, bytes); };
  co_return co_await RunOn(engine_.blocking(), std::move(check));
}

boost::asio::awaitable<void> DiskHold::HoldVolume(EngineName volume) {
  const std::int64_t bytes = engine_.options().disk_bytes;
  if (bytes == 0) co_return;
  const auto volumes = co_await engine_.VolumesFolder();
  absl::Status held = volumes.status();
  if (held.ok()) {
    auto hold = [folder = *volumes, volume, bytes] {
      return sandkeep::HoldVolume(folder, volume, bytes);
    };
    held = co_await RunOn(engine_.blocking(), std::move(hold));
  }
  // Where there are no quotas, GetInfo says it once.
  const bool none = absl::IsUnimplemented(held) || absl::IsFailedPrecondition(held);
  if (held.ok() || none) co_return;
  Log(Severity::kWarning, "volume.not_held", {{"volume", volume.text()}, {"why", held}});
}

boost::asio::awaitable<void> DiskHold::VolumeNotMade(EngineName volume) {
  if (engine_.options().disk_bytes == 0) co_return;
  const auto volumes = co_await engine_.VolumesFolder();
  if (!volumes.ok()) co_return;
  auto drop = [folder = *volumes, volume] {
    DropVolume(folder, volume);
    return absl::OkStatus();
  };
  (co_await RunOn(engine_.blocking(), std::move(drop))).IgnoreError();
}

Async<bool> DiskHold::IsHeld(EngineName volume) {
  if (engine_.options().disk_bytes == 0) co_return false;
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.Volumes(volume));
  auto look = [volumes, volume] {
    return absl::StatusOr<bool>(ProjectOfVolume(volumes, volume) != 0);
  };
  co_return co_await RunOn(engine_.blocking(), std::move(look));
}

boost::asio::awaitable<void> DiskHold::HoldLayer(EngineName container, EngineName volume) {
  const std::string name = container.text();
  const absl::Status held = co_await ReplaceLayer(std::move(container), std::move(volume));
  if (held.ok()) co_return;
  Log(Severity::kWarning, "container.layer_not_held", {{"container", name}, {"why", held}});
}

// The layer's folders are a subordinate id's, and only their owner may give them a project, which
// nobody in a user namespace may. So the agent makes a folder that has it, and the layer is made
// anew in there.
Async<void> DiskHold::ReplaceLayer(EngineName container, EngineName volume) {
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.Volumes(volume));
  auto prepare = [volumes, container, volume]() -> absl::StatusOr<LayerCopy> {
    LayerCopy copy;
    ASSIGN_OR_RETURN(copy.layer, ContainerLayerFolder(volumes, container));
    const std::uint32_t project = ProjectOfVolume(volumes, volume);
    ASSIGN_OR_RETURN(copy.folder, MakeLayerFolder(volumes, container, project));
    return copy;
  };
  CO_ASSIGN_OR_RETURN(const LayerCopy copy, co_await RunOn(engine_.blocking(), std::move(prepare)));
  Arguments arguments = ReplaceLayerArguments(copy.layer, copy.folder);
  auto replaced = co_await engine_.podman().Call(std::move(arguments));
  auto clean = [volumes, container] {
    DropLayerFolder(volumes, container);
    return absl::OkStatus();
  };
  (co_await RunOn(engine_.blocking(), std::move(clean))).IgnoreError();
  CO_RETURN_IF_ERROR(replaced.status());
  co_return replaced->succeeded() ? absl::OkStatus() : EngineFailure("unshare cp", *replaced);
}

}  // namespace sandkeep
