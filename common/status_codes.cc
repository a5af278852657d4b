#include "common/status_codes.h"

#include <array>
#include <system_error>

#include "common/strings.h"

namespace sandkeep {
namespace {

using absl::StatusCode;

// JSON-RPC reserves -32768 to -32000; only those that the protocol names are used from it.
constexpr std::array<StatusCodes, 17> kTable = {{
    {StatusCode::kOk, 0, 200},
    {StatusCode::kCancelled, -32603, 499},
    {StatusCode::kUnknown, -32603, 500},
    {StatusCode::kInvalidArgument, -32602, 400},
    {StatusCode::kDeadlineExceeded, -32603, 504},
    {StatusCode::kNotFound, -32602, 404},
    {StatusCode::kAlreadyExists, -32602, 409},
    {StatusCode::kPermissionDenied, -32602, 403},
    {StatusCode::kResourceExhausted, -32603, 429},
    {StatusCode::kFailedPrecondition, -32603, 409},
    {StatusCode::kAborted, -32603, 412},
    {StatusCode::kOutOfRange, -32602, 416},
    {StatusCode::kUnimplemented, -32601, 501},
    {StatusCode::kInternal, -32603, 500},
    {StatusCode::kUnavailable, -32603, 503},
    {StatusCode::kDataLoss, -32603, 500},
    {StatusCode::kUnauthenticated, -32603, 401},
}};

StatusCode CodeOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EEXIST:
      return StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
      return StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
      return StatusCode::kResourceExhausted;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV:
      return StatusCode::kInvalidArgument;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ESRCH:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

const StatusCodes& CodesOf(StatusCode code) {
  for (const StatusCodes& row : kTable) {
    if (row.code == code) return row;
  }
  return kTable[static_cast<std::size_t>(StatusCode::kUnknown)];
}

absl::Status ErrnoStatus(int error, std::string_view what) {
  return absl::Status(CodeOfErrno(error),
                      StrCat(what, ": ", std::generic_category().message(error)));
}

}  // namespace sandkeep
