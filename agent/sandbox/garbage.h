// What no sandbox needs any more: containers, volumes and spools of ours that none names. Decides
// only. Reads the disk: not on an I/O thread.
#pragma once

#include <string>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox_manager.h"

namespace sandkeep {

absl::StatusOr<std::vector<GarbageDecision>> FindGarbage(const Registry& registry,
                                                         const EngineObjects& objects,
                                                         const std::string& state_dir);

// Whether a sandbox goes with its files: nobody has used it for `ttl`, and nothing runs in it. Kept
// when its last use isn't known.
GarbageDecision JudgeSandbox(const SandboxView& view, const EngineName& volume, absl::Duration ttl,
                             absl::Time now);

// The folders below `<state_dir>/spools` that belong to no sandbox.
std::vector<std::string> SpoolsOfNobody(const Registry& registry, const std::string& state_dir);

}  // namespace sandkeep
