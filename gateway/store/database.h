// The gateway's database, <state dir>/gateway.db: principals and their access keys, sign-ins and
// their tokens, and the keys that sign links. Every commit survives a power cut. Opened by the
// running gateway, twice, and by the `keys` command at the same time; each has a connection of its
// own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/sqlite.h"

namespace sandkeep {

// DataLoss: the file is damaged, and the message says what to do. Nothing is written to it then.
absl::StatusOr<Database> OpenGatewayDatabase(const std::string& state_dir);

// The same for a command beside a running gateway, which becomes its user first: what it makes must
// be the gateway's.
absl::StatusOr<Database> OpenAsOwner(const std::string& state_dir);

}  // namespace sandkeep
