// The words and numbers of an outcome. Pure; any thread.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/jobs/outcome.h"
#include "agent/runtime/container_runtime.h"

namespace sandkeep {

// What waitpid said. `asked`: a caller sent the signal, so it needs no explanation.
Outcome OutcomeOfWaitStatus(int wait_status, bool asked);
Outcome OutcomeOfLostSupervisor();
Outcome OutcomeOfTimeout(absl::Duration limit, bool waiting_for_input);
Outcome OutcomeOfRefusal(const absl::Status& why);

// The same end, but not all that it printed could be kept yet.
Outcome WithFullDisk(Outcome outcome, std::int64_t kept_bytes);

// What the kernel counted while it ran, as the reason of its end; the counts are the sandbox's, so
// with others beside it only as a hint. A count that isn't there says that this host can't tell.
Outcome WithKernelCause(Outcome outcome, const std::optional<KernelCounts>& before,
                        const std::optional<KernelCounts>& after, bool alone);

}  // namespace sandkeep
