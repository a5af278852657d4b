// Whether sandboxes can be started on this host, and how. Every problem comes with its remedy, all
// at once, so that nobody meets them one by one.
#pragma once

#include "agent/runtime/container_runtime.h"
#include "agent/runtime/podman_engine.h"
#include "common/async.h"

namespace sandkeep {

// `engine` outlives the call.
Async<EngineInfo> ProbeEngine(PodmanEngine& engine);

}  // namespace sandkeep
