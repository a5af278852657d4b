#include "agent/client/grpc_setup.h"

#include <grpc/support/log.h>

#include "absl/synchronization/mutex.h"
#include "common/log.h"

namespace sandkeep {
namespace {

void LogLine(gpr_log_func_args* line) {
  Log(Severity::kWarning, "grpc",
      {{"where", line->file}, {"line", line->line}, {"what", line->message}});
}

}  // namespace

void SetUpGrpc() {
  gpr_set_log_function(LogLine);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  // Debian's build looks for deadlocks at every lock, under one lock for all of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace sandkeep
