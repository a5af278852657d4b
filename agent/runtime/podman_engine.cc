#include "agent/runtime/podman_engine.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/runtime/network_filter.h"
#include "agent/runtime/volume_folders.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/pause.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// The second one has what the first leaves out where systemd-resolved stands between.
constexpr const char* kResolvConfs[] = {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"};

constexpr std::string_view kProgramFolders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

bool IsInstalled(std::string_view program) {
  return std::any_of(std::begin(kProgramFolders), std::end(kProgramFolders),
                     [program](std::string_view folder) {
                       return ::access(StrCat(folder, "/", program).c_str(), X_OK) == 0;
                     });
}

// The first version whose `--network` knows pasta.
bool KnowsPasta(const EngineVersion& version) {
  return std::pair(version.major, version.minor) >= std::pair(4, 4);
}

std::int64_t HardLimit(int resource, std::int64_t wanted) {
  rlimit limit{};
  const auto kind = static_cast<__rlimit_resource>(resource);
  if (::getrlimit(kind, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return wanted;
  return std::min<std::int64_t>(wanted, static_cast<std::int64_t>(limit.rlim_max));
}

// So little that nothing can be started on it.
bool IsFull(const std::string& folder) {
  struct statvfs fs{};
  if (::statvfs(folder.c_str(), &fs) != 0) return false;
  const auto free_bytes = static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
  return free_bytes < kFullDiskBytes || (fs.f_files > 0 && fs.f_favail == 0);
}

}  // namespace

PodmanEngine::PodmanEngine(const boost::asio::any_io_executor& executor, PodmanOptions options)
    : options_(std::move(options)), podman_(executor, options_) {}

Async<EngineVersion> PodmanEngine::Version() {
  {
    const std::lock_guard lock(mutex_);
    if (version_) co_return *version_;
  }
  Arguments arguments = {"version", "--format=json"};
  CO_ASSIGN_OR_RETURN(const std::string text, co_await podman_.Read(std::move(arguments)));
  CO_ASSIGN_OR_RETURN(EngineVersion version, ParseVersion(text));
  const std::lock_guard lock(mutex_);
  version_ = version;
  co_return version;
}

Async<NetworkHelper> PodmanEngine::Network() {
  if (options_.network == SandboxNetwork::kNone) co_return NetworkHelper::kNone;
  CO_RETURN_IF_ERROR(co_await CheckNetwork());
  CO_ASSIGN_OR_RETURN(const EngineVersion version, co_await Version());
  if (KnowsPasta(version) && IsInstalled("pasta")) co_return NetworkHelper::kPasta;
  if (IsInstalled("slirp4netns")) co_return NetworkHelper::kSlirp4netns;
  co_return absl::FailedPreconditionError(
      KnowsPasta(version) ? "no network helper: install pasta (apt-get install passt)"
                          : "no network helper: install it (apt-get install slirp4netns)");
}

Async<void> PodmanEngine::CheckNetwork() {
  if (options_.network != SandboxNetwork::kInternet) co_return absl::OkStatus();
  auto check = [this]() -> absl::Status {
    AddressRanges expected = options_.network_allow;
    for (const char* const file : kResolvConfs) expected = WithResolvers(std::move(expected), file);
    return CheckDenied(DeniedAddresses(), expected);
  };
  absl::Status denied = co_await RunOn(blocking(), check);
  for (int tries = 0; !denied.ok() && denied_ && tries < kFilterTries; ++tries) {
    co_await Pause(kFilterPause);
    denied = co_await RunOn(blocking(), check);
  }
  if (denied_.exchange(denied.ok()) != denied.ok()) {
    Log(denied.ok() ? Severity::kInfo : Severity::kError, "network.filter", {{"why", denied}});
  }
  co_return denied;
}

HostLimits PodmanEngine::Limits() const {
  HostLimits limits;
  limits.cgroup = ProbeCgroups(std::string(kCgroupRoot), options_.cgroup_parent);
  limits.max_files = HardLimit(RLIMIT_NOFILE, limits.max_files);
  limits.max_processes = HardLimit(RLIMIT_NPROC, options_.processes);
  return limits;
}

Async<std::string> PodmanEngine::Volumes(EngineName volume) {
  {
    const std::lock_guard lock(mutex_);
    if (!volumes_.empty()) co_return volumes_;
  }
  Arguments arguments = {"volume", "inspect", volume.text()};
  auto text = co_await podman_.Read(std::move(arguments));
  if (absl::IsUnavailable(text.status())) {
    CO_ASSIGN_OR_RETURN(const bool exists, co_await podman_.Exists("volume", volume.text()));
    if (!exists) co_return absl::NotFoundError(StrCat("no volume ", volume.text()));
  }
  CO_RETURN_IF_ERROR(text.status());
  CO_ASSIGN_OR_RETURN(const auto volumes, ParseVolumes(*text, options_.instance));
  if (volumes.size() != 1) co_return absl::NotFoundError(StrCat("no volume ", volume.text()));
  CO_ASSIGN_OR_RETURN(std::string folder,
                      sandkeep::VolumesFolder(volumes.front().mountpoint, volume));
  LearnVolumes(folder);
  co_return folder;
}

Async<std::string> PodmanEngine::VolumesFolder() {
  {
    const std::lock_guard lock(mutex_);
    if (!volumes_.empty()) co_return volumes_;
  }
  Arguments arguments = VolumesFolderArguments();
  CO_ASSIGN_OR_RETURN(std::string folder, co_await podman_.Read(std::move(arguments)));
  if (!folder.empty() && folder.back() == '\n') folder.pop_back();
  if (folder.empty() || folder.front() != '/' || folder.find('\n') != std::string::npos) {
    co_return absl::DataLossError("podman doesn't say where volumes are");
  }
  LearnVolumes(folder);
  co_return folder;
}

void PodmanEngine::LearnVolumes(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  volumes_ = folder;
}

Async<InspectedContainer> PodmanEngine::Inspect(EngineName container) {
  Arguments arguments = {"container", "inspect", container.text()};
  auto called = co_await podman_.Call(arguments);
  // As Podman::Read: a second try, if the first met another call's half-done work.
  if (absl::IsUnavailable(called.status()) || (called.ok() && !called->succeeded())) {
    called = co_await podman_.Call(std::move(arguments));
  }
  CO_ASSIGN_OR_RETURN(const ProcessResult result, std::move(called));
  // For a missing one podman fails and prints an empty list; only the list counts.
  auto inspected = ParseInspect(result.standard_output, options_.instance);
  if (absl::IsNotFound(inspected.status()) && !result.succeeded()) {
    CO_ASSIGN_OR_RETURN(const bool exists, co_await podman_.Exists("container", container.text()));
    if (exists) co_return EngineFailure("container inspect", result);
  }
  if (inspected.ok() && !inspected->ours) {
    co_return absl::NotFoundError(StrCat(container.text(), " isn't ours"));
  }
  co_return inspected;
}

Async<void> PodmanEngine::Diagnose(absl::Status failure) {
  if (!absl::IsUnavailable(failure)) co_return failure;
  if (IsFull(options_.home) || IsFull(options_.runtime_dir)) {
    co_return absl::ResourceExhaustedError("the disk of the sandboxes is full");
  }
  const auto image = co_await podman_.Exists("image", options_.image);
  if (image.ok() && !*image) {
    co_return absl::FailedPreconditionError(
        StrCat("the image ", options_.image, " is missing: run deploy/image/build.sh"));
  }
  co_return failure;
}

void PodmanEngine::Remember(const EngineName& container, const ContainerInit& init) {
  KnownInit known{init.pid, UniqueFd(::fcntl(init.pidfd.get(), F_DUPFD_CLOEXEC, 0))};
  const std::lock_guard lock(mutex_);
  inits_.insert_or_assign(container, std::move(known));
}

void PodmanEngine::Forget(const EngineName& container) {
  const std::lock_guard lock(mutex_);
  inits_.erase(container);
}

KnownInit PodmanEngine::Find(const EngineName& container) const {
  const std::lock_guard lock(mutex_);
  const auto known = inits_.find(container);
  if (known == inits_.end()) return {};
  return {known->second.pid, UniqueFd(::fcntl(known->second.pidfd.get(), F_DUPFD_CLOEXEC, 0))};
}

}  // namespace sandkeep
