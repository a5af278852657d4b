// The part of cgroup v2 that the service manager delegated to our unit: one group for the agent
// itself, one for all containers, whose limits then land. Functions only; once, at start.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandkeep {

struct Delegation {
  std::string group;  // Relative to the root.
  bool own = false;   // Our own unit's: we must leave it for a sub-group.
};

// Our own unit's group, else that of sandkeep-containers.service beside us: a service manager older
// than DelegateSubgroup= (systemd 254) can't restart a unit whose group has others below it.
// `proc_cgroup` is the text of /proc/self/cgroup. Unimplemented: neither is ours.
absl::StatusOr<Delegation> FindDelegation(const std::string& root, std::string_view proc_cgroup);

// Makes `<unit>/containers` with the controllers that there are; where the unit is ours, it moves
// this process into `<unit>/agent`. Returns that group, relative to the root:
// PodmanOptions::cgroup_parent. Unimplemented: the host has no cgroup v2, or nothing is delegated
// to us; the message says which.
absl::StatusOr<std::string> TakeDelegatedCgroup(const std::string& root,
                                                const std::string& proc_cgroup);

}  // namespace sandkeep
