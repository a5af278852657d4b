#include "agent/client/grpc_status.h"

#include <string>

#include "common/limits.h"
#include "common/utf8.h"

namespace sandkeep {

absl::Status FromGrpc(const grpc::Status& status) {
  const int code = status.error_code();
  // A peer may send any number; absl would keep one that no table of ours knows.
  if (code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::UnknownError(status.error_message());
  }
  return absl::Status(static_cast<absl::StatusCode>(code), status.error_message());
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message(status.message());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(Utf8Head(message, kMaxRpcErrorBytes)));
}

}  // namespace sandkeep
