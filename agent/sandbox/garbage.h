// What no sandbox needs any more: containers, volumes and spools of ours that none names. Decides
// only. Reads the disk: not on an I/O thread.
#pragma once

#include <string>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox_manager.h"

namespace sandkeep {

// Of a volume, all of it.
inline RelPath Workspace() { return *RelPath::Parse(""); }

absl::StatusOr<std::vector<GarbageDecision>> FindGarbage(const Registry& registry,
                                                         const EngineObjects& objects,
                                                         const std::string& state_dir);

// What is to be said of a sandbox and its volume, by its use alone. `remove`: its files decide.
GarbageDecision JudgeSandbox(const SandboxView& view, const EngineName& volume, absl::Duration ttl,
                             absl::Time now);
// The same, with what was seen of its files: a process left behind may have changed them long after
// the last use. Kept if not all of them could be looked at.
void JudgeFiles(GarbageDecision& decision, const absl::StatusOr<MeasuredTree>& files,
                absl::Duration ttl, absl::Time now);

// The folders below `<state_dir>/spools` that belong to no sandbox.
std::vector<std::string> SpoolsOfNobody(const Registry& registry, const std::string& state_dir);

}  // namespace sandkeep
