#include "agent/runtime/volume_removal.h"

#include <utility>

#include "agent/runtime/layer_folder.h"
#include "agent/runtime/removed_folder.h"
#include "agent/runtime/volume_folders.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

class VolumeRemoval::Moving {
 public:
  Moving(VolumeRemoval& owner, EngineName volume) : owner_(owner), volume_(std::move(volume)) {
    const std::lock_guard lock(owner_.mutex_);
    owner_.moving_.insert(volume_);
  }
  ~Moving() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.moving_.erase(volume_);
  }
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;

 private:
  VolumeRemoval& owner_;
  const EngineName volume_;
};

bool VolumeRemoval::IsMoving(const EngineName& volume) const {
  const std::lock_guard lock(mutex_);
  return moving_.contains(volume);
}

Async<void> VolumeRemoval::Remove(EngineName volume) {
  const Moving moving(*this, volume);
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.VolumesFolder());
  auto set_aside = [volumes, volume] { return SetVolumeAside(volumes, volume).status(); };
  CO_RETURN_IF_ERROR(co_await RunOn(engine_.blocking(), std::move(set_aside)));
  const absl::Status removed = co_await RemoveAside(volume);
  auto settle = [volumes, volume, gone = removed.ok()] {
    return gone ? GiveVolumeUp(volumes, volume) : PutVolumeBack(volumes, volume);
  };
  const absl::Status settled = co_await RunOn(engine_.blocking(), std::move(settle));
  if (!settled.ok()) {
    Log(Severity::kWarning, "volume.left_aside", {{"volume", volume.text()}, {"why", settled}});
  }
  co_return removed;
}

Async<void> VolumeRemoval::RemoveAside(EngineName volume) {
  // Never --force: it would remove the containers that use the volume.
  Arguments arguments = {"volume", "rm", volume.text()};
  const auto removed = co_await engine_.podman().Call(std::move(arguments));
  if (removed.ok() && removed->succeeded()) co_return absl::OkStatus();
  // Whatever became of the call, podman may have forgotten it by now.
  CO_ASSIGN_OR_RETURN(const bool exists, co_await engine_.podman().Exists("volume", volume.text()));
  if (!exists) co_return absl::OkStatus();
  CO_RETURN_IF_ERROR(removed.status());
  constexpr int kInUse = 2;
  if (removed->exit_code == kInUse) {
    co_return absl::FailedPreconditionError(StrCat("volume ", volume.text(), " is in use"));
  }
  co_return EngineFailure("volume rm", *removed);
}

void VolumeRemoval::PutBack(const std::vector<ListedVolume>& listed) {
  std::set<EngineName> known;
  for (const ListedVolume& volume : listed) known.insert(volume.name);
  if (known.empty()) return;
  const auto volumes = VolumesFolder(listed.front().mountpoint, listed.front().name);
  if (!volumes.ok()) return;
  for (const EngineName& aside : ListRemoved(*volumes).aside) {
    if (!known.contains(aside) || IsMoving(aside)) continue;
    const absl::Status back = PutVolumeBack(*volumes, aside);
    Log(Severity::kInfo, "volume.put_back", {{"volume", aside.text()}, {"why", back}});
  }
}

// Its removal was cut off: it is the engine's, maybe of another agent, or nobody's.
Async<void> VolumeRemoval::Settle(std::string volumes, EngineName volume) {
  CO_ASSIGN_OR_RETURN(const bool exists, co_await engine_.podman().Exists("volume", volume.text()));
  if (IsMoving(volume)) co_return absl::OkStatus();
  auto settle = [volumes, volume, exists] {
    return exists ? PutVolumeBack(volumes, volume) : GiveVolumeUp(volumes, volume);
  };
  co_return co_await RunOn(engine_.blocking(), std::move(settle));
}

Async<void> VolumeRemoval::Empty() {
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.VolumesFolder());
  auto drop = [volumes] {
    DropOldLayerFolders(volumes);
    return absl::OkStatus();
  };
  CO_RETURN_IF_ERROR(co_await RunOn(engine_.blocking(), std::move(drop)));
  const RemovedVolumes found = co_await List(volumes);
  // What one of them fails by is no reason to keep the others.
  absl::Status failed;
  for (const EngineName& volume : found.aside) {
    if (!IsMoving(volume)) failed.Update(co_await Settle(volumes, volume));
  }
  const RemovedVolumes settled = co_await List(volumes);
  for (const std::string& path : settled.given_up) {
    Arguments arguments = EmptyArguments(path);
    const auto emptied =
        co_await engine_.podman().CallBeside(std::move(arguments), kEmptyingDeadline);
    failed.Update(emptied.status());
    const bool refused = emptied.ok() && !emptied->succeeded();
    if (refused) failed.Update(EngineFailure("unshare rm", *emptied));
  }
  co_return failed;
}

boost::asio::awaitable<RemovedVolumes> VolumeRemoval::List(std::string volumes) {
  auto list = [folder = std::move(volumes)] { return ListRemoved(folder); };
  co_return co_await RunOn(engine_.blocking(), std::move(list));
}

}  // namespace sandkeep
