// What to do at start with what is found: the records in the database, the bindings beside the
// volumes, and the engine's containers. Decides only; nothing is touched. Plain values; any thread.
//
// Records are believed before bindings, bindings before nothing. A volume is never given up: one
// that belongs to no sandbox is kept and named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "agent/store/store.h"

namespace sandkeep {

struct FoundSandbox {
  SandboxRow row;
  // Of the container that the row names; nullopt: it is gone.
  std::optional<ContainerState> container;
  bool row_changed = false;
  bool bind = false;  // Its volume still bears what it had in the pool.
};

struct KeptVolume {
  EngineName name;
  std::string reason;
};

struct RecoveryPlan {
  std::vector<FoundSandbox> sandboxes;
  // Rows whose volume and container are both gone.
  std::vector<SandboxKey> forget;
  // Ours, but of no sandbox, or a second one of the same.
  std::vector<EngineName> remove_containers;
  // That a row names and the engine doesn't have: an agent that died while it made or removed one
  // has left the container's files.
  std::vector<EngineName> gone_containers;
  // Of the pool, and nobody's: nothing has ever run in them.
  std::vector<EngineName> remove_volumes;
  std::vector<KeptVolume> kept_volumes;
};

RecoveryPlan Reconcile(std::vector<SandboxRow> rows, const EngineObjects& objects);

}  // namespace sandkeep
