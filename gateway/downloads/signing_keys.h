// The secrets that sign links: the first one signs, every one verifies. They live in the database's
// signing_keys; MCP_SIGN_KEY, where it is set, goes before them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/secret.h"
#include "common/sqlite.h"

namespace sandkeep {

// Makes a key of 32 bytes if there is none. `configured` may be empty. Never empty. Blocks on the
// disk.
absl::StatusOr<std::vector<Secret>> LoadSigningKeys(Database& db, const Secret& configured,
                                                    Random& random, const Clock& clock);

}  // namespace sandkeep
