// What cgroup v2 lets the agent do with its containers: which limits land, and freezing. Functions
// only; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/runtime/container_runtime.h"

namespace sandkeep {

inline constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

struct CgroupSupport {
  bool v2 = false;
  // Controllers that the engine may use below the parent; none without a parent of ours.
  bool memory = false;
  bool cpu = false;
  bool pids = false;
};

// `parent` as PodmanOptions::cgroup_parent.
CgroupSupport ProbeCgroups(const std::string& root, const std::string& parent);

// The container's own group, relative to the root, from the text of /proc/<init>/cgroup: everything
// up to the component that the engine made for it. Unimplemented: it has none, and freezing what it
// is in would freeze the agent.
absl::StatusOr<std::string> ContainerCgroup(std::string_view proc_cgroup);

// Tells the kernel; it takes a moment until every process has stopped. `group` as ContainerCgroup
// gives it.
absl::Status SetFrozen(const std::string& root, const std::string& group, bool frozen);
// Every process has stopped.
bool IsFrozen(const std::string& root, const std::string& group);

// What was counted against the group. Nothing: it is gone, or has no such controller.
std::optional<KernelCounts> ReadCounts(const std::string& root, const std::string& group);

}  // namespace sandkeep
