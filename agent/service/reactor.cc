#include "agent/service/reactor.h"

#include "common/log.h"

namespace sandkeep {

absl::Status ResultOf(const std::exception_ptr& thrown, absl::Status status) {
  if (!thrown) return status;
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& error) {
    // How asio unwinds a coroutine that was cancelled.
    if (error.code() == boost::asio::error::operation_aborted) {
      return absl::CancelledError("cancelled");
    }
    Log(Severity::kError, "call.failed", {{"what", error.what()}});
  } catch (const std::exception& error) {
    Log(Severity::kError, "call.failed", {{"what", error.what()}});
  }
  return absl::InternalError("the agent failed at this; its journal says why");
}

absl::Status Guarded(const std::function<absl::Status()>& body) {
  try {
    return body();
  } catch (...) {
    return ResultOf(std::current_exception(), absl::OkStatus());
  }
}

}  // namespace sandkeep
