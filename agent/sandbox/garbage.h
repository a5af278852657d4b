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

// What is to be said of a sandbox's volume. Kept in each case: how old its files are isn't asked
// yet, and whoever has not used a sandbox may still have changed them.
GarbageDecision JudgeSandbox(const SandboxView& view, const EngineName& volume, absl::Duration ttl,
                             absl::Time now);

// The folders below `<state_dir>/spools` that belong to no sandbox.
std::vector<std::string> SpoolsOfNobody(const Registry& registry, const std::string& state_dir);

}  // namespace sandkeep
