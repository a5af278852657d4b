// A folder's project, in the sense of project quotas: what is made below it belongs to the project,
// too, and counts against the project's limits. Only the folder's owner changes it, and only
// outside of user namespaces: nobody in a sandbox can. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandkeep {

// 0: none. Unimplemented: the file system has no projects.
absl::StatusOr<std::uint32_t> ProjectOf(const std::string& folder);

absl::Status SetProject(const std::string& folder, std::uint32_t project);

// The bytes that the folder may hold. Where a limit of its project is in force, the kernel answers
// with that: no right is needed to ask.
absl::StatusOr<std::int64_t> RoomOf(const std::string& folder);

}  // namespace sandkeep
