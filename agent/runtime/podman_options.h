// What the operator fixed about every sandbox and its engine. Given at construction; no caller of
// the runtime can change any of it.
#pragma once

#include <cstdint>
#include <string>

#include "common/address_ranges.h"
#include "common/ids.h"

namespace sandkeep {

enum class SandboxNetwork {
  kInternet,  // No LAN and no host: only where something filters, as the systemd unit does.
  kFull,      // The LAN too.
  kNone,
};

struct PodmanOptions {
  explicit PodmanOptions(InstanceId instance_given) : instance(std::move(instance_given)) {}

  InstanceId instance;  // Objects that don't bear it are none of our business.
  std::string podman = "/usr/bin/podman";
  std::string image = "localhost/sandkeep-sandbox";
  std::string init_path;    // sandkeep-init on this host.
  std::string state_dir;    // Our generated files live below it.
  std::string home;         // Of the engine's user.
  std::string runtime_dir;  // Its XDG_RUNTIME_DIR, which must never change: podman remembers it.
  // The agent's own sub-tree of cgroup v2, as /system.slice/sandkeep-agent.service/ctrs. Empty: no
  // cgroup for containers, and so no limits of memory and CPU.
  std::string cgroup_parent;
  SandboxNetwork network = SandboxNetwork::kFull;
  AddressRanges network_allow;  // What kInternet reaches all the same.
  bool strict_seccomp = true;   // Our own profile; else the engine's.
  bool persistent = false;      // The persistent profile also finds the workspace at /sandbox.
  std::int64_t memory_bytes = 1LL << 30;
  int cpus = 2;
  int processes = 256;
  std::int64_t shm_bytes = 256LL << 20;
  std::int64_t disk_bytes = 0;  // Of workspace and layer together; 0: no limit.
};

}  // namespace sandkeep
