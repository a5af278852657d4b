// gRPC's status and ours. The codes are the same numbers (common/status_codes.h); only the types
// differ. Any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace sandkeep {

absl::Status FromGrpc(const grpc::Status& status);
// The message is cut to what fits gRPC's metadata, on a character's boundary.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace sandkeep
