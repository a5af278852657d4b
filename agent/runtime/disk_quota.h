// Holds sandboxes to SANDBOX_DISK at once, by project quotas, where root has set them up: each
// project of a range of our own has that limit then (deploy/quota.py), and nothing of root's is
// needed while the agent runs. A sandbox's volume and its container's layer are of one project, and
// of no other sandbox's: the volume's folder says which, also while a removed one's files are being
// deleted. Where it doesn't hold, looks at what sandboxes take are all there is. Blocking; any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"

namespace sandkeep {

// Whether limits of so many bytes are in force among these volumes, by trying. FailedPrecondition
// with the remedy: they aren't.
absl::Status CheckQuota(const std::string& volumes, std::int64_t bytes);

// Before the engine makes it: makes the volume's folder, of a project that nobody else has, and
// leaves to the engine what belongs in it, which inherits the project; fine if it was done before.
// FailedPrecondition: no limit is in force. AlreadyExists: it was made without a project.
absl::Status HoldVolume(const std::string& volumes, const EngineName& volume, std::int64_t bytes);

// The same without a look at limits.
absl::StatusOr<std::uint32_t> GiveProject(const std::string& volumes, const EngineName& volume);

// The engine hasn't made it.
void DropVolume(const std::string& volumes, const EngineName& volume);

// 0: it has none of ours.
std::uint32_t ProjectOfVolume(const std::string& volumes, const EngineName& volume);

}  // namespace sandkeep
