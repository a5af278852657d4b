#include "agent/client/grpc_setup.h"

#include <grpc/support/log.h>

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
}

}  // namespace sandkeep
