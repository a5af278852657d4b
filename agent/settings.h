// What sandkeep-agent is told by its settings, in the types that its parts want. Read once, before
// the first thread; then a plain value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/peer_listener/peer.h"
#include "agent/runtime/podman_options.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/host_facts.h"
#include "common/settings.h"

namespace sandkeep {

// PRINCIPAL_DISK has no value: FirstPrincipalDisk says what it is.
inline constexpr std::int64_t kPrincipalDiskUnset = -1;

struct AgentSettings {
  std::string state_dir;    // STATE_DIR
  std::string socket_path;  // AGENT_SOCKET
  std::vector<Peer> peers;  // AGENT_FRONTEND_UIDS, AGENT_OPERATOR_UIDS
  std::string files_path;   // FILES_PATH, or where it was found
  std::string imager_path;  // IMAGER_PATH, or where it was found
  ManagerLimits limits;     // principal_disk_bytes may be kPrincipalDiskUnset.
  // Both without the instance, which only the state directory knows.
  std::function<PodmanOptions(InstanceId)> podman;
  std::function<HostFacts(InstanceId)> facts;

  // InvalidArgument: what the listed users, addresses or paths lack.
  static absl::StatusOr<AgentSettings> From(const Settings& settings);
};

}  // namespace sandkeep
