// The folders in which the output of sandboxes' jobs is kept: `<state_dir>/spools/<key>`.
//
// A sandbox's folder may only be removed by its path as long as nobody else can make another of
// that name: so it is set aside first, under a name that no sandbox has, and removed from there.
// What an agent that died had set aside is swept at the next start. The calls wait for the disk:
// not on an I/O thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/random.h"

namespace sandkeep {

std::string SpoolFolder(const std::string& state_dir, const SandboxKey& key);

// Gives the folder `name` below spools/ another name, which is returned. Empty: nothing is there;
// what can't be renamed is removed at once.
absl::StatusOr<std::string> SetSpoolsAside(const std::string& state_dir, std::string_view name,
                                           Random& random);

// With all that is in it; fine if there is none.
absl::Status RemoveSpools(const std::string& state_dir, std::string_view name);

}  // namespace sandkeep
