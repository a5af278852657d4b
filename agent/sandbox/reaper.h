// What is due for a sandbox that nobody uses: the edges running → frozen → stopped → absent by the
// clock. Decides only; plain values, any thread.
#pragma once

#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/sandbox_manager.h"
#include "common/clock.h"

namespace sandkeep {

enum class LifeStep { kNone, kFreeze, kStop, kRemove, kResume, kSettle };

// `place_free`: one that was frozen only to make room may go on.
LifeStep Due(const SandboxView& view, const ManagerLimits& limits, Clock::Monotonic now,
             bool place_free);

}  // namespace sandkeep
