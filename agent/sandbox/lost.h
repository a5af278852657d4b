// What jobs are told that end because their container did, and when it is given up. Functions only;
// any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "agent/jobs/outcome.h"

namespace sandkeep {

// Init or the container died, or was removed by somebody else.
Outcome LostContainer();
// What ran in it took over its init, or broke it.
Outcome BrokenSandbox();
// By RemoveSandbox or RemoveVolume.
Outcome RemovedOnPurpose();
// By the clock, or because the machine needed its memory.
Outcome StoppedIdle();
// While no agent was there: the machine or the unit went down.
Outcome LostToRestart();

// For who asked for it: what is behind it and what to do. Other errors are as they are.
absl::Status BrokenFromInside(const absl::Status& why);

// The engine answered, and trying again won't help: the container itself is past repair.
bool PastRepair(const absl::Status& status);
// The engine didn't do it, and doesn't say that the host is at fault: trying again may help.
bool IsEngineFailure(const absl::Status& status);

}  // namespace sandkeep
