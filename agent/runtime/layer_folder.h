// A folder in which a container's layer is made anew, so that it is of a sandbox's project
// (disk_quota.h): what is made in there inherits it, and what is then moved beside it stays so. It
// lies among the layers, under a name that no layer has: the engine mounts their folder onto
// itself, and nothing can be moved into that from outside. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"

namespace sandkeep {

// NotFound: the storage has no such layers. One at a time for each container.
absl::StatusOr<std::string> MakeLayerFolder(const std::string& volumes, const EngineName& container,
                                            std::uint32_t project);

// What it still holds, if anything, waits to be deleted (removed_folder.h).
void DropLayerFolder(const std::string& volumes, const EngineName& container);

// Those of agents that died over them.
void DropOldLayerFolders(const std::string& volumes);

}  // namespace sandkeep
