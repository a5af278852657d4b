#include "agent/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kDefaultStateDir = "/var/lib/sandkeep";
constexpr std::string_view kLibexec = "/usr/libexec/sandkeep";
constexpr int kLeastSandboxes = 2;
absl::Duration Seconds(const Settings& settings, std::string_view name) {
  return absl::Seconds(settings.Int(name));
}

// For settings in which 0 means: no limit.
absl::Duration SecondsOrForever(const Settings& settings, std::string_view name) {
  const std::int64_t seconds = settings.Int(name);
  return seconds == 0 ? absl::InfiniteDuration() : absl::Seconds(seconds);
}

// Half of the machine's memory, in sandboxes of their full size.
int SandboxesByMemory(std::int64_t memory_of_one) {
  const std::int64_t total =
      static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return static_cast<int>(std::max<std::int64_t>(kLeastSandboxes, total / 2 / memory_of_one));
}

// A helper program of ours: where the setting says, else in its place in the build tree, else where
// it is installed.
std::string HelperPath(const std::string& given, std::string_view in_build, std::string_view name) {
  if (!given.empty()) return given;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / in_build / name;
  if (!error && std::filesystem::exists(beside, error)) return beside;
  return StrCat(kLibexec, "/", name);
}

SandboxNetwork NetworkOf(const std::string& text) {
  if (text == "full") return SandboxNetwork::kFull;
  return text == "none" ? SandboxNetwork::kNone : SandboxNetwork::kInternet;
}

std::string HomeOfUser() {
  const char* home = std::getenv("HOME");
  if (home != nullptr) return home;
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr ? "/" : user->pw_dir;
}

std::string TextOfEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first `podman` of PATH; its usual place where there is none, so that what is said names it.
std::string PodmanPath() {
  const std::string path = TextOfEnvironment("PATH");
  for (const std::string_view folder : Split(path, ':')) {
    std::string candidate = StrCat(folder, "/podman");
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return path.empty() ? "/usr/bin/podman" : "podman";
}

std::string StateDirOf(const Settings& settings) {
  return settings.IsSet("STATE_DIR") ? settings.Text("STATE_DIR") : std::string(kDefaultStateDir);
}

PodmanOptions PodmanFrom(const Settings& settings, InstanceId instance) {
  PodmanOptions options(std::move(instance));
  options.podman = PodmanPath();
  options.image = settings.Text("SANDBOX_IMAGE");
  options.init_path = HelperPath(settings.Text("INIT_PATH"), "init", "sandkeep-init");
  options.state_dir = StateDirOf(settings);
  options.home = HomeOfUser();
  options.runtime_dir = TextOfEnvironment("XDG_RUNTIME_DIR");
  options.network = NetworkOf(settings.Text("SANDBOX_NETWORK"));
  options.persistent = settings.persistent();
  options.strict_seccomp = settings.Text("SANDBOX_SECCOMP") != "default";
  options.memory_bytes = settings.Int("SANDBOX_MEMORY");
  options.cpus = static_cast<int>(settings.Int("SANDBOX_CPUS"));
  options.processes = static_cast<int>(settings.Int("SANDBOX_PIDS"));
  options.shm_bytes = settings.Int("SANDBOX_SHM");
  options.disk_bytes = settings.Int("SANDBOX_DISK");
  return options;
}

ManagerLimits LimitsFrom(const Settings& settings) {
  ManagerLimits limits;
  limits.max_timeout = Seconds(settings, "SANDBOX_MAX_TIMEOUT");
  limits.background = SecondsOrForever(settings, "SANDBOX_BACKGROUND");
  limits.max_running = static_cast<int>(
      settings.Int("SANDBOX_MAX", SandboxesByMemory(settings.Int("SANDBOX_MEMORY"))));
  limits.min_free_bytes = settings.Int("SANDBOX_MIN_FREE");
  limits.job_keep = Seconds(settings, "JOB_KEEP");
  limits.output_bytes = settings.Int("JOBS_DISK");
  limits.jobs.spool_bytes = settings.Int("JOB_SPOOL_MAX");
  limits.jobs.background = limits.background;
  limits.idle = Seconds(settings, "SANDBOX_IDLE");
  limits.stop_after = SecondsOrForever(settings, "SANDBOX_STOP_AFTER");
  limits.keep = SecondsOrForever(settings, "SANDBOX_KEEP");
  limits.recycle_removes = settings.Text("SANDBOX_RECYCLE") == "remove";
  limits.volume_ttl = Seconds(settings, "VOLUME_TTL");
  limits.gc_delete = settings.Switch("GC_DELETE");
  limits.file_ttl = SecondsOrForever(settings, "FILE_TTL");
  limits.cleanup_interval = Seconds(settings, "CLEANUP_INTERVAL");
  limits.warm = static_cast<int>(settings.Int("SANDBOX_WARM"));
  limits.mem_reserve_bytes = settings.Int("SANDBOX_MEM_RESERVE");
  limits.sandbox_disk_bytes = settings.Int("SANDBOX_DISK");
  limits.principal_disk_bytes = settings.Int("PRINCIPAL_DISK", kPrincipalDiskUnset);
  return limits;
}

// Nobody is to be told what doesn't happen: without GC_DELETE volumes are kept, and one that is
// removed when it is idle is never frozen.
HostFacts FactsFrom(const Settings& settings, const ManagerLimits& limits, InstanceId instance) {
  return HostFacts{
      .instance = std::move(instance),
      .started = absl::Now(),
      .version = SANDKEEP_VERSION,
      .profile = settings.persistent() ? "persistent" : "conversation",
      .network = settings.Text("SANDBOX_NETWORK"),
      .max_timeout = limits.max_timeout,
      .background = limits.background,
      .idle = limits.recycle_removes ? absl::InfiniteDuration() : limits.idle,
      .stop_after = limits.stop_after,
      .keep = limits.recycle_removes ? limits.idle : limits.keep,
      .memory_bytes = settings.Int("SANDBOX_MEMORY"),
      .cpus_milli = settings.Int("SANDBOX_CPUS") * 1000,
      .pids = settings.Int("SANDBOX_PIDS"),
      .shm_bytes = settings.Int("SANDBOX_SHM"),
      .job_spool_bytes = limits.jobs.spool_bytes,
      .job_keep = limits.job_keep,
      .volume_ttl = limits.gc_delete ? limits.volume_ttl : absl::InfiniteDuration(),
      .file_ttl = limits.file_ttl,
      .sandbox_disk_bytes = limits.sandbox_disk_bytes,
      .max_running = limits.max_running,
      .disk_floor_bytes = limits.min_free_bytes,
      .memory_reserve_bytes = limits.mem_reserve_bytes,
  };
}

}  // namespace

absl::StatusOr<AgentSettings> AgentSettings::From(const Settings& settings) {
  AgentSettings agent;
  agent.state_dir = StateDirOf(settings);
  agent.socket_path = settings.Text("AGENT_SOCKET");
  ASSIGN_OR_RETURN(agent.peers, ParsePeers(settings.List("AGENT_FRONTEND_UIDS"),
                                           settings.List("AGENT_OPERATOR_UIDS")));
  agent.files_path = HelperPath(settings.Text("FILES_PATH"), "file_process", "sandkeep-files");
  agent.imager_path = HelperPath(settings.Text("IMAGER_PATH"), "imager", "sandkeep-imager");
  agent.limits = LimitsFrom(settings);
  ASSIGN_OR_RETURN(AddressRanges allowed,
                   AddressRanges::Make("NETWORK_ALLOW", settings.List("NETWORK_ALLOW")));
  agent.podman = [settings, allowed = std::move(allowed)](InstanceId instance) {
    PodmanOptions options = PodmanFrom(settings, std::move(instance));
    options.network_allow = allowed;
    return options;
  };
  agent.facts = [settings, limits = agent.limits](InstanceId instance) {
    return FactsFrom(settings, limits, std::move(instance));
  };
  return agent;
}

}  // namespace sandkeep
