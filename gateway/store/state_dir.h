// The gateway's own folder. One running gateway holds its lock; the `keys` command works beside it
// without.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace sandkeep {

// Makes the folder (0700) if it isn't there. FailedPrecondition: it is another user's, or others
// may write to it.
absl::Status PrepareStateDir(const std::string& path);

// Held until the descriptor closes. FailedPrecondition: another gateway runs on this folder.
absl::StatusOr<UniqueFd> LockStateDir(const std::string& path);

// As root: becomes the folder's owner for good, so that files made in it belong to the gateway. A
// folder that isn't there, or is root's, changes nothing.
absl::Status BecomeOwnerOf(const std::string& path);

}  // namespace sandkeep
