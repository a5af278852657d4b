// What the agent says to init, as frames, and init's refusals in words. Pure; any thread.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "agent/init_link/init_link.h"
#include "agent/init_link/outbox.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep {

// Start with its descriptors and the command; a long command follows in parts, then Run.
// InvalidArgument: over the limits of the
// protocol, or descriptors that don't go together.
absl::StatusOr<std::vector<OutFrame>> StartFrames(InitStart start);

// Why init couldn't start a job. ResourceExhausted: a limit; InvalidArgument: cwd; else Internal.
absl::Status RefusalStatus(const init::v1::Refused& refused);

std::vector<OutFrame> StandbyFrames(InitStandby shell);

std::vector<OutFrame> OneFrame(const init::v1::ToInit& message);

}  // namespace sandkeep
