// podman's command lines, as data: what may stand in one is decided here and nowhere else. Nothing
// in them comes from outside but engine names, which are well-formed by their type, and a host
// name, which is checked. Functions only; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/runtime/cgroup.h"
#include "agent/runtime/podman_options.h"
#include "common/ids.h"

namespace sandkeep {

// Where the init is bind-mounted, read-only; PID 1 of a sandbox bears this name.
inline constexpr std::string_view kInitInside = "/usr/libexec/sandkeep-init";
inline constexpr std::string_view kInstanceLabel = "sandkeep.instance";
inline constexpr std::string_view kVolumeLabel = "sandkeep.volume";
// Of an image that deploy/image/build.sh made.
inline constexpr std::string_view kImageLabel = "sandkeep.input";

enum class NetworkHelper { kNone, kPasta, kSlirp4netns };

// What this host lets land. The hard limits of our own that a container can't exceed are counted
// in.
struct HostLimits {
  CgroupSupport cgroup;
  std::int64_t max_files = 8192;
  std::int64_t max_processes = 0;
};

// One container to be.
struct ContainerSpec {
  EngineName name;
  EngineName volume;
  std::string hostname;
  std::string seccomp;  // The profile's path; empty: the engine's own.
  std::string files;    // The folder of agent/runtime/container_files.h.
  NetworkHelper network = NetworkHelper::kNone;
  HostLimits limits;
};

// InvalidArgument: not 1–63 of [a-z0-9-], starting and ending with none of the latter.
absl::Status CheckHostname(std::string_view hostname);

using Arguments = std::vector<std::string>;

Arguments RunArguments(const PodmanOptions& options, const ContainerSpec& spec);
// The same container, made but not started.
Arguments CreateArguments(const PodmanOptions& options, const ContainerSpec& spec);
// Those of every call of `options`' engine, before the command's own.
Arguments GlobalArguments(const PodmanOptions& options);

Arguments ListContainersArguments(const PodmanOptions& options);
Arguments ListVolumesArguments(const PodmanOptions& options);
// Of images without a name that deploy/image/build.sh has made.
Arguments ListOldImagesArguments();
Arguments CreateVolumeArguments(const PodmanOptions& options, const EngineName& volume);
// Deletes what subordinate ids own, this folder and all below it, while others go first.
Arguments EmptyArguments(const std::string& folder);
// Makes a layer's folder anew inside `folder`, and moves it where it was.
Arguments ReplaceLayerArguments(const std::string& layer, const std::string& folder);
// Prints the folder of all volumes.
Arguments VolumesFolderArguments();

}  // namespace sandkeep
