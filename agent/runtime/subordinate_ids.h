// The range of subordinate ids that /etc/subuid or /etc/subgid gives to a user: what sandboxes' ids
// are on this host. Functions only; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandkeep {

struct SubordinateRange {
  std::uint32_t start = 0;
  std::uint32_t count = 0;
};

// The user's first range in a file's text; lines name the user or its uid. Lines that are no
// ranges are skipped, as the tools do. NotFound: none.
absl::StatusOr<SubordinateRange> ParseSubordinateIds(std::string_view text, std::string_view user,
                                                     uid_t uid);

// Reads `file` for the user of this process. FailedPrecondition with the remedy: it has none.
absl::StatusOr<SubordinateRange> OwnSubordinateIds(const std::string& file);

}  // namespace sandkeep
