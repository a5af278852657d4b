// What jobs are told that end because their container did. Outcomes; any thread.
#pragma once

#include <string>

#include "agent/jobs/outcome.h"

namespace sandkeep {

// Init or the container died, or was removed by somebody else.
Outcome LostContainer();
// By RemoveSandbox or RemoveVolume.
Outcome RemovedOnPurpose();
// While no agent was there: the machine or the unit went down.
Outcome LostToRestart();

}  // namespace sandkeep
