#include "agent/runtime/podman_command.h"

#include <algorithm>

#include "common/strings.h"

namespace sandkeep {
namespace {

// Where the persistent profile finds its workspace, too, and starts its commands.
constexpr std::string_view kPersistentWorkspace = "/sandbox";

// Descriptors of one process inside; the hard limit of the agent's own user may be lower.
constexpr std::int64_t kSoftFiles = 4096;

// What apt, useradd, su and servers on low ports need, and nothing else.
constexpr std::string_view kCapabilities =
    "CHOWN,DAC_OVERRIDE,FOWNER,FSETID,SETUID,SETGID,KILL,NET_BIND_SERVICE,SYS_CHROOT";

// Of the policies' one sensitivity: c0 to c1023.
constexpr std::uint32_t kCategories = 1024;

void Append(Arguments& arguments, Arguments more) {
  std::move(more.begin(), more.end(), std::back_inserter(arguments));
}

std::string_view NetworkArgument(NetworkHelper helper) {
  switch (helper) {
    case NetworkHelper::kPasta:
      return "--network=pasta";
    case NetworkHelper::kSlirp4netns:
      return "--network=slirp4netns";
    case NetworkHelper::kNone:
      break;
  }
  return "--network=none";
}

// SELinux keeps two sandboxes apart by categories. They come from the volume's name, which is
// random: whatever container takes the volume next can read the files of the one before. Where
// there is no SELinux the engine takes no notice.
std::string Level(const EngineName& volume) {
  std::uint32_t hash = 2166136261;  // FNV-1a: the same for ever.
  for (const char c : volume.text()) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619;
  const std::uint32_t one = hash % kCategories;
  std::uint32_t other = (hash >> 16) % kCategories;
  if (other == one) other ^= 1;
  return StrCat("s0:c", std::min(one, other), ",c", std::max(one, other));
}

// The root inside is a subordinate uid that owns nothing of the agent's.
Arguments Confinement(const ContainerSpec& spec) {
  Arguments arguments = {
      "--userns=nomap",
      "--cap-drop=ALL",
      StrCat("--cap-add=", kCapabilities),
      "--security-opt=no-new-privileges",
      StrCat("--security-opt=label=level:", Level(spec.volume)),
      std::string(NetworkArgument(spec.network)),
      "--ipc=private",
      "--http-proxy=false",
      "--unsetenv-all",
  };
  if (!spec.seccomp.empty()) {
    arguments.push_back(StrCat("--security-opt=seccomp=", spec.seccomp));
  }
  // There it shows the host's groups, and nothing inside can use it.
  if (!spec.limits.cgroup.v2) arguments.push_back("--security-opt=mask=/sys/fs/cgroup");
  return arguments;
}

Arguments ResourceLimits(const PodmanOptions& options, const HostLimits& limits) {
  const std::int64_t soft = std::min(kSoftFiles, limits.max_files);
  Arguments arguments = {
      StrCat("--shm-size=", options.shm_bytes),
      StrCat("--ulimit=nofile=", soft, ":", limits.max_files),
      "--ulimit=core=0:0",
  };
  // Beside a limit of the group's it would be met first, and nothing counts how often it was.
  if (!limits.cgroup.pids) {
    const std::int64_t processes = std::min<std::int64_t>(options.processes, limits.max_processes);
    arguments.push_back(StrCat("--ulimit=nproc=", processes, ":", processes));
  }
  // A limit whose controller isn't delegated would keep the container from starting.
  if (limits.cgroup.memory) {
    // Memory and swap together: no swap beyond the limit.
    Append(arguments, {StrCat("--memory=", options.memory_bytes),
                       StrCat("--memory-swap=", options.memory_bytes)});
  }
  if (limits.cgroup.cpu) arguments.push_back(StrCat("--cpus=", options.cpus));
  // Where nothing is said podman sets 2,048, which without the controller would fail.
  if (limits.cgroup.v2) {
    arguments.push_back(StrCat("--pids-limit=", limits.cgroup.pids ? options.processes : 0));
  }
  return arguments;
}

Arguments Mounts(const PodmanOptions& options, const ContainerSpec& spec) {
  Arguments arguments;
  const auto bind = [&arguments](std::string_view source, std::string_view target) {
    arguments.push_back(StrCat("--volume=", source, ":", target, ":ro"));
  };
  bind(options.init_path, kInitInside);
  // The engine's own would lie on its run root, and a sandbox could fill that by writing to them.
  bind(StrCat(spec.files, "/hosts"), "/etc/hosts");
  bind(StrCat(spec.files, "/hostname"), "/etc/hostname");
  bind(StrCat(spec.files, "/resolv.conf"), "/etc/resolv.conf");
  bind(StrCat(spec.files, "/containerenv"), "/run/.containerenv");
  const auto workspace = [&](std::string_view target) {
    arguments.push_back(StrCat("--volume=", spec.volume.text(), ":", target, ":nosuid,nodev"));
  };
  workspace("/workspace");
  if (options.persistent) workspace(kPersistentWorkspace);
  return arguments;
}

// What the image says about how it is run doesn't count.
Arguments Behaviour(const ContainerSpec& spec) {
  return {
      StrCat("--name=", spec.name.text()),
      StrCat("--hostname=", spec.hostname),
      StrCat("--pidfile=", spec.files, "/pid"),
      StrCat("--entrypoint=", kInitInside),
      "--user=0:0",
      "--workdir=/",
      "--umask=0022",
      "--systemd=false",
      "--init=false",
      "--image-volume=ignore",
      "--no-healthcheck",
      "--restart=no",
      "--pull=never",
      "--log-driver=none",
      // Init takes no SIGTERM: a stranger's `podman stop` shouldn't wait for it either.
      "--stop-signal=SIGKILL",
      "--stop-timeout=0",
  };
}

Arguments Labels(const PodmanOptions& options, const EngineName& volume) {
  return {StrCat("--label=", kInstanceLabel, "=", options.instance.hex()),
          StrCat("--label=", kVolumeLabel, "=", volume.text())};
}

std::string OursFilter(const PodmanOptions& options) {
  return StrCat("--filter=label=", kInstanceLabel, "=", options.instance.hex());
}

}  // namespace

absl::Status CheckHostname(std::string_view hostname) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return letter(c) || c == '-'; };
  if (hostname.empty() || hostname.size() > 63 || !letter(hostname.front()) ||
      !letter(hostname.back()) || !std::all_of(hostname.begin(), hostname.end(), allowed)) {
    return absl::InvalidArgumentError("a host name is 1 to 63 characters of a-z, 0-9 and -");
  }
  return absl::OkStatus();
}

namespace {

Arguments ContainerArguments(Arguments arguments, const PodmanOptions& options,
                             const ContainerSpec& spec) {
  Append(arguments, Behaviour(spec));
  Append(arguments, Labels(options, spec.volume));
  Append(arguments, Confinement(spec));
  Append(arguments, ResourceLimits(options, spec.limits));
  Append(arguments, Mounts(options, spec));
  if (spec.limits.cgroup.v2 && !options.cgroup_parent.empty()) {
    arguments.push_back(StrCat("--cgroup-parent=", options.cgroup_parent));
  }
  arguments.push_back(options.image);
  if (options.persistent) Append(arguments, {"--workspace", std::string(kPersistentWorkspace)});
  return arguments;
}

}  // namespace

Arguments RunArguments(const PodmanOptions& options, const ContainerSpec& spec) {
  return ContainerArguments({"run", "--detach", "--passwd=false"}, options, spec);
}

Arguments CreateArguments(const PodmanOptions& options, const ContainerSpec& spec) {
  // It knows no --passwd, and adds no line for a user that the image has.
  return ContainerArguments({"create"}, options, spec);
}

Arguments GlobalArguments(const PodmanOptions& options) {
  Arguments arguments = {"--log-level=error"};
  if (!options.cgroup_parent.empty()) arguments.push_back("--cgroup-manager=cgroupfs");
  return arguments;
}

Arguments ListContainersArguments(const PodmanOptions& options) {
  return {"ps", "--all", "--no-trunc", OursFilter(options), "--format=json"};
}

Arguments ListVolumesArguments(const PodmanOptions& options) {
  return {"volume", "ls", OursFilter(options), "--format=json"};
}

Arguments ListOldImagesArguments() {
  return {"images", "--no-trunc", "--filter=dangling=true", StrCat("--filter=label=", kImageLabel),
          "--format=json"};
}

Arguments CreateVolumeArguments(const PodmanOptions& options, const EngineName& volume) {
  return {"volume", "create", StrCat("--label=", kInstanceLabel, "=", options.instance.hex()),
          volume.text()};
}

Arguments EmptyArguments(const std::string& folder) {
  return {"unshare", "nice", "-n", "19", "rm", "-rf", "--one-file-system", "--", folder};
}

Arguments ReplaceLayerArguments(const std::string& layer, const std::string& folder) {
  constexpr std::string_view kReplace =
      "cp -a -- \"$1\" \"$2/layer\" && rm -rf -- \"$1\" && mv -T -- \"$2/layer\" \"$1\"";
  return {"unshare", "sh", "-euc", std::string(kReplace), "sh", layer, folder};
}

Arguments VolumesFolderArguments() { return {"info", "--format={{.Store.VolumePath}}"}; }

}  // namespace sandkeep
