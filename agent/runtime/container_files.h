// The files of ours that stand in the place of the engine's inside a container: hosts, hostname,
// resolv.conf and containerenv, one folder a container, mounted read-only. The engine's own are
// writable and lie on its small run root, which a sandbox could fill. The pid file stands beside
// them. Blocking; one container at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "agent/runtime/podman_command.h"

namespace sandkeep {

// The folder of a container's files below the agent's state folder.
std::string ContainerFolder(const PodmanOptions& options, const EngineName& container);

// Makes folder and files. A container that is started again finds them as they were.
absl::Status WriteContainerFiles(const std::string& folder, const std::string& hostname,
                                 NetworkHelper network);

// The profile of every sandbox, in the agent's state folder.
std::string SeccompPath(const PodmanOptions& options);
absl::Status WriteSeccompProfile(const PodmanOptions& options);

absl::Status RemoveContainerFiles(const std::string& folder);

// What the engine wrote at the last start.
absl::StatusOr<pid_t> ReadPidFile(const std::string& folder);

}  // namespace sandkeep
