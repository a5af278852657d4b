// Where volumes wait whose files are still to be deleted: a folder beside them, under a name that
// the engine gives no volume. A volume's folder is renamed into it, which takes no time however
// much it holds; from there it comes back under its own name, or is given up for good. Blocking;
// any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"

namespace sandkeep {

std::string RemovedFolder(const std::string& volumes);

// False: the volume has no folder. On the disk when it returns.
absl::StatusOr<bool> SetVolumeAside(const std::string& volumes, const EngineName& volume);

// What SetVolumeAside has done, undone. Fine if there is nothing to undo.
absl::Status PutVolumeBack(const std::string& volumes, const EngineName& volume);

// Its files are nobody's from then on. Fine if it isn't there.
absl::Status GiveVolumeUp(const std::string& volumes, const EngineName& volume);

// The same for another folder in the engine's storage, under its own name.
absl::Status GiveFolderUp(const std::string& volumes, const std::string& folder);

struct RemovedVolumes {
  std::vector<EngineName> aside;      // Whoever set them aside does, or died over, the rest.
  std::vector<std::string> given_up;  // Paths.
};

RemovedVolumes ListRemoved(const std::string& volumes);

}  // namespace sandkeep
