// What podman prints, read strictly: only the members that we use, each of the expected type, the
// shapes of podman 4.3 and 5 alike. Input is bounded by kMaxEngineOutputBytes before it comes here.
// An object that another program named or labelled is skipped, never an error; anything else
// unexpected is one (DataLoss). Functions only; any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/runtime/container_runtime.h"
#include "common/ids.h"

namespace sandkeep {

// `podman ps --format json`: those with this instance's label and well-formed names.
struct ListedContainer {
  ContainerRecord record;
  pid_t init_pid = 0;  // 0: none runs.
};
absl::StatusOr<std::vector<ListedContainer>> ParseContainers(std::string_view json,
                                                             const InstanceId& instance);

// `podman volume ls --format json`, `podman volume inspect`.
struct ListedVolume {
  EngineName name;
  std::string mountpoint;  // Absolute.
};
absl::StatusOr<std::vector<ListedVolume>> ParseVolumes(std::string_view json,
                                                       const InstanceId& instance);

// Of `podman images`, those that no container uses and that aren't `in_use` by their id.
absl::StatusOr<std::vector<OldImage>> ParseOldImages(std::string_view text,
                                                     std::string_view in_use);

// `podman container inspect`: of the one container asked for. NotFound: none.
struct InspectedContainer {
  ContainerState state = ContainerState::kUnknown;
  pid_t init_pid = 0;
  std::string hostname;
  bool never_ran = false;       // Created only: nothing has been written in it.
  bool between_states = false;  // On its way out of one that ran: it can't be started as it is.
  bool ours = false;            // It bears this instance's label.
};
absl::StatusOr<InspectedContainer> ParseInspect(std::string_view json, const InstanceId& instance);

// `podman version --format json`.
struct EngineVersion {
  int major = 0;
  int minor = 0;
  std::string text;
};
absl::StatusOr<EngineVersion> ParseVersion(std::string_view json);

}  // namespace sandkeep
