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

// What the folder may hold. Where limits of its project are in force, the kernel answers with
// those: no right is needed to ask.
struct FolderRoom {
  std::int64_t bytes = 0;
  std::int64_t names = 0;
};
absl::StatusOr<FolderRoom> RoomOf(const std::string& folder);

}  // namespace sandkeep
