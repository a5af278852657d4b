// Where podman keeps volumes, and what the agent keeps beside their data: the file that binds a
// volume to its sandbox. The folder of a volume is the agent's own; only `_data` in it belongs to
// the container's root, so nothing inside can reach the binding. Blocking; any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/unique_fd.h"

namespace sandkeep {

// The folder of all volumes, from one volume's mount point. DataLoss: it isn't one as we know them.
absl::StatusOr<std::string> VolumesFolder(std::string_view mountpoint, const EngineName& volume);

// Nothing to do if it is there with this text. FailedPrecondition: with another one, but for the
// pool's (warm_binding.h).
absl::Status WriteBinding(const std::string& volumes, const EngineName& volume,
                          std::string_view text);

// Empty: there is none that can be read.
std::string ReadBinding(const std::string& volumes, const EngineName& volume);

// O_PATH. NotFound: no such volume.
absl::StatusOr<UniqueFd> OpenVolumeData(const std::string& volumes, const EngineName& volume);

// Of all layers. NotFound: volumes lie elsewhere than containers.
absl::StatusOr<std::string> LayersFolder(const std::string& volumes);

// The folder of a container's layer, by podman's list of containers beside the volumes: asking
// podman itself costs a hundred times as much. NotFound: none of this name, or the storage has no
// such layers.
absl::StatusOr<std::string> ContainerLayerFolder(const std::string& volumes,
                                                 const EngineName& container);

// O_PATH, of that folder, in which `diff` is what a container has written to its own file system:
// the agent itself can't go further down. NotFound: as there.
absl::StatusOr<UniqueFd> OpenContainerLayer(const std::string& volumes,
                                            const EngineName& container);

}  // namespace sandkeep
