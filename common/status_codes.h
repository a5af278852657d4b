// The one table that turns an absl::Status into what each protocol says: gRPC, JSON-RPC and HTTP.
// gRPC's codes are absl's own numbers. Nothing else maps codes.
#pragma once

#include <cerrno>
#include <string_view>

#include "absl/status/status.h"

namespace sandkeep {

struct StatusCodes {
  absl::StatusCode code;
  int json_rpc;
  int http;
};

const StatusCodes& CodesOf(absl::StatusCode code);

// A status for a failed system call: the code by errno, the message "<what>: <strerror>".
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace sandkeep
