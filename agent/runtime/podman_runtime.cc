#include "agent/runtime/podman_runtime.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "agent/runtime/cgroup.h"
#include "agent/runtime/container_files.h"
#include "agent/runtime/disk_hold.h"
#include "agent/runtime/limits_in_force.h"
#include "agent/runtime/neighbour_limits.h"
#include "agent/runtime/podman_engine.h"
#include "agent/runtime/podman_probe.h"
#include "agent/runtime/small_file.h"
#include "agent/runtime/volume_folders.h"
#include "agent/runtime/volume_removal.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/pause.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

std::vector<VolumeRecord> ReadBindings(const std::vector<ListedVolume>& listed) {
  std::vector<VolumeRecord> records;
  for (const ListedVolume& volume : listed) {
    const auto volumes = VolumesFolder(volume.mountpoint, volume.name);
    std::string binding = volumes.ok() ? ReadBinding(*volumes, volume.name) : "";
    records.push_back({volume.name, std::move(binding)});
  }
  return records;
}

absl::StatusOr<std::string> GroupOfProcess(pid_t pid) {
  if (pid == 0) return absl::NotFoundError("the container doesn't run");
  ASSIGN_OR_RETURN(const std::string text,
                   ReadSmallFile(StrCat("/proc/", pid, "/cgroup"), kMaxPathBytes));
  return ContainerCgroup(text);
}

class PodmanRuntime : public ContainerRuntime {
 public:
  PodmanRuntime(const asio::any_io_executor& executor, PodmanOptions options)
      : engine_(executor, std::move(options)) {}

  Async<EngineInfo> Probe() override;
  Async<void> CreateVolume(EngineName volume, std::string binding) override;
  Async<void> BindVolume(EngineName volume, std::string binding) override;
  Async<UniqueFd> OpenVolume(EngineName volume) override;
  Async<UniqueFd> OpenLayer(EngineName container) override;
  Async<RunningContainer> Start(EngineName container, EngineName volume,
                                std::string hostname) override;
  Async<RunningContainer> Attach(EngineName container) override;
  Async<void> Stop(EngineName container) override;
  Async<void> Remove(EngineName container) override;
  Async<void> Freeze(EngineName container) override;
  Async<void> Thaw(EngineName container) override;
  Async<EngineObjects> ListOurs() override;
  Async<void> RemoveVolume(EngineName volume) override {
    return removal_.Remove(std::move(volume));
  }
  Async<void> EmptyRemoved() override { return removal_.Empty(); }
  Async<std::vector<OldImage>> ListOldImages() override;
  Async<void> RemoveImage(std::string id) override;

 private:
  Async<RunningContainer> Take(EngineName container, std::string hostname, pid_t pid);
  // One that the engine has started just now: its pid stands in the pid file.
  Async<RunningContainer> TakeStarted(EngineName container, std::string hostname);
  // What one start knows of its tries before.
  struct StartTries {
    int failed = 0;
    bool made_anew = false;
  };
  Async<RunningContainer> StartOnce(const ContainerSpec& spec, StartTries& tries);
  Async<ProcessResult> CallStart(EngineName container);
  Async<ProcessResult> MakeAndStart(const ContainerSpec& spec);
  // `failed`: of the start that was tried before it was known to be present.
  Async<RunningContainer> StartPresent(const ContainerSpec& spec, InspectedContainer present,
                                       const StartTries& tries,
                                       std::optional<ProcessResult> failed);
  // After a failed start: nothing stays of a container that isn't there.
  asio::awaitable<void> CleanUp(const ContainerSpec& spec);
  // Calls podman until it succeeds or the container is gone.
  Async<void> Insist(EngineName container, Arguments arguments);
  void Kill(const EngineName& container);
  Async<void> SetFrozenState(EngineName container, bool frozen);
  absl::StatusOr<std::string> GroupOf(const EngineName& container) const;
  std::function<std::optional<KernelCounts>()> CountsOf(const EngineName& container) const;
  std::function<bool()> FrozenStateOf(const EngineName& container) const;
  void HoldToLimits(const EngineName& container, pid_t init) const;
  ContainerState StateNow(const ListedContainer& container) const;

  PodmanEngine engine_;
  DiskHold disk_{engine_};
  VolumeRemoval removal_{engine_};
};

Async<EngineInfo> PodmanRuntime::Probe() {
  CO_ASSIGN_OR_RETURN(EngineInfo info, co_await ProbeEngine(engine_));
  info.disk_quota = co_await disk_.State();
  co_return info;
}

// ---- Volumes ----

Async<void> PodmanRuntime::CreateVolume(EngineName volume, std::string binding) {
  co_await disk_.HoldVolume(volume);
  Arguments arguments = CreateVolumeArguments(engine_.options(), volume);
  CO_ASSIGN_OR_RETURN(const ProcessResult created,
                      co_await engine_.podman().Call(std::move(arguments)));
  if (!created.succeeded()) {
    CO_ASSIGN_OR_RETURN(const bool exists,
                        co_await engine_.podman().Exists("volume", volume.text()));
    if (!exists) {
      co_await disk_.VolumeNotMade(volume);
      co_return co_await engine_.Diagnose(EngineFailure("volume create", created));
    }
  }
  co_return co_await BindVolume(std::move(volume), std::move(binding));
}

Async<void> PodmanRuntime::BindVolume(EngineName volume, std::string binding) {
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.Volumes(volume));
  auto write = [volumes, volume, binding] { return WriteBinding(volumes, volume, binding); };
  co_return co_await RunOn(engine_.blocking(), std::move(write));
}

Async<UniqueFd> PodmanRuntime::OpenVolume(EngineName volume) {
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.Volumes(volume));
  co_return OpenVolumeData(volumes, volume);
}

Async<UniqueFd> PodmanRuntime::OpenLayer(EngineName container) {
  CO_ASSIGN_OR_RETURN(const std::string volumes, co_await engine_.Volumes(container));
  co_return OpenContainerLayer(volumes, container);
}

// ---- Images ----

Async<std::vector<OldImage>> PodmanRuntime::ListOldImages() {
  Arguments list = ListOldImagesArguments();
  CO_ASSIGN_OR_RETURN(const std::string text, co_await engine_.podman().Read(std::move(list)));
  co_return ParseOldImages(text, engine_.options().image);
}

Async<void> PodmanRuntime::RemoveImage(std::string id) {
  // Never --force: it would remove containers.
  Arguments arguments = {"image", "rm", id};
  CO_ASSIGN_OR_RETURN(const ProcessResult removed,
                      co_await engine_.podman().Call(std::move(arguments)));
  if (removed.succeeded()) co_return absl::OkStatus();
  CO_ASSIGN_OR_RETURN(const bool exists, co_await engine_.podman().Exists("image", id));
  if (!exists) co_return absl::OkStatus();
  constexpr int kInUse = 2;
  if (removed.exit_code == kInUse) co_return absl::FailedPreconditionError("a container uses it");
  co_return EngineFailure("image rm", removed);
}

// ---- Starting ----

std::function<std::optional<KernelCounts>()> PodmanRuntime::CountsOf(
    const EngineName& container) const {
  if (!engine_.Limits().cgroup.memory) return {};
  const absl::StatusOr<std::string> group = GroupOf(container);
  if (!group.ok()) return {};
  return [group = *group]() { return ReadCounts(std::string(kCgroupRoot), group); };
}

std::function<bool()> PodmanRuntime::FrozenStateOf(const EngineName& container) const {
  if (!engine_.Limits().cgroup.v2) return {};
  const absl::StatusOr<std::string> group = GroupOf(container);
  if (!group.ok()) return {};
  return [group = *group]() { return IsFrozen(std::string(kCgroupRoot), group); };
}

// Also when it is taken over: a container lives longer than a setting.
void PodmanRuntime::HoldToLimits(const EngineName& container, pid_t init) const {
  const PodmanOptions& options = engine_.options();
  const HostLimits limits = engine_.Limits();
  const WantedLimits wanted{.cgroup = limits.cgroup,
                            .memory_bytes = options.memory_bytes,
                            .cpus = options.cpus,
                            .processes = options.processes,
                            .shm_bytes = options.shm_bytes,
                            .max_files = limits.max_files,
                            .max_processes = limits.cgroup.pids ? 0 : limits.max_processes};
  const std::string group = GroupOf(container).value_or("");
  for (const std::string& wrong : PutLimitsRight(std::string(kCgroupRoot), group, init, wanted)) {
    Log(Severity::kWarning, "container.limit", {{"container", container.text()}, {"what", wrong}});
  }
}

Async<RunningContainer> PodmanRuntime::Take(EngineName container, std::string hostname, pid_t pid) {
  CO_ASSIGN_OR_RETURN(ContainerInit init, co_await TakeInit(pid));
  engine_.Remember(container, init);
  HoldToLimits(container, pid);
  const EngineName running_name = container;
  RunningContainer running{.name = std::move(container),
                           .hostname = std::move(hostname),
                           .init_pid = pid,
                           .init_pidfd = std::move(init.pidfd),
                           .channel = std::move(init.channel),
                           .counts = CountsOf(running_name),
                           .is_frozen = FrozenStateOf(running_name)};
  co_return running;
}

Async<RunningContainer> PodmanRuntime::TakeStarted(EngineName container, std::string hostname) {
  CO_ASSIGN_OR_RETURN(const pid_t pid, ReadPidFile(ContainerFolder(engine_.options(), container)));
  auto running = co_await Take(std::move(container), std::move(hostname), pid);
  // Before a command could take its share and more.
  if (running.ok()) co_await LimitInotify(pid);
  // It was there a moment ago.
  if (absl::IsNotFound(running.status())) co_return absl::UnavailableError("the sandbox died");
  co_return running;
}

Async<ProcessResult> PodmanRuntime::CallStart(EngineName container) {
  return engine_.podman().Call({"start", container.text()}, kEngineStartDeadline);
}

Async<ProcessResult> PodmanRuntime::MakeAndStart(const ContainerSpec& spec) {
  const bool held = (co_await disk_.IsHeld(spec.volume)).value_or(false);
  Arguments arguments =
      held ? CreateArguments(engine_.options(), spec) : RunArguments(engine_.options(), spec);
  CO_ASSIGN_OR_RETURN(ProcessResult made,
                      co_await engine_.podman().Call(std::move(arguments), kEngineStartDeadline));
  if (!held || !made.succeeded()) co_return made;
  co_await disk_.HoldLayer(spec.name, spec.volume);
  co_return co_await CallStart(spec.name);
}

Async<RunningContainer> PodmanRuntime::StartPresent(const ContainerSpec& spec,
                                                    InspectedContainer present,
                                                    const StartTries& tries,
                                                    std::optional<ProcessResult> failed) {
  if (present.state == ContainerState::kRunning) {
    co_return co_await Take(spec.name, present.hostname, present.init_pid);
  }
  // Its layer is held before its first start, or never.
  const absl::StatusOr<bool> holds = co_await disk_.IsHeld(spec.volume);
  const bool unheld = present.never_ran && holds.value_or(false);
  if (!failed && !unheld) {
    CO_ASSIGN_OR_RETURN(failed, co_await CallStart(spec.name));
    if (failed->succeeded()) co_return co_await TakeStarted(spec.name, present.hostname);
  }
  // What a failed run left behind holds nothing; a stopped one holds the packages. One whose
  // monitor was killed stays between running and stopped until it is removed.
  const bool stuck = present.between_states && tries.failed + 2 >= kEngineTries;
  if (present.never_ran || stuck) CO_RETURN_IF_ERROR(co_await Remove(spec.name));
  co_return failed ? EngineFailure("start", *failed) : absl::UnavailableError("it never ran");
}

Async<RunningContainer> PodmanRuntime::StartOnce(const ContainerSpec& spec, StartTries& tries) {
  // A pid file says that it was started before: most likely it is there, and stopped.
  if (ReadPidFile(spec.files).ok()) {
    CO_ASSIGN_OR_RETURN(ProcessResult started, co_await CallStart(spec.name));
    if (started.succeeded()) co_return co_await TakeStarted(spec.name, spec.hostname);
    auto known = co_await engine_.Inspect(spec.name);
    if (known.ok()) {
      co_return co_await StartPresent(spec, *std::move(known), tries, std::move(started));
    }
    if (!absl::IsNotFound(known.status())) co_return known.status();
  }
  CO_ASSIGN_OR_RETURN(const ProcessResult run, co_await MakeAndStart(spec));
  tries.made_anew = tries.made_anew || run.succeeded();
  if (run.succeeded()) co_return co_await TakeStarted(spec.name, spec.hostname);
  auto present = co_await engine_.Inspect(spec.name);
  if (absl::IsNotFound(present.status())) co_return EngineFailure("run", run);
  CO_RETURN_IF_ERROR(present.status());
  co_return co_await StartPresent(spec, *std::move(present), tries, std::nullopt);
}

Async<RunningContainer> PodmanRuntime::Start(EngineName container, EngineName volume,
                                             std::string hostname) {
  CO_RETURN_IF_ERROR(CheckHostname(hostname));
  CO_ASSIGN_OR_RETURN(const NetworkHelper network, co_await engine_.Network());
  // podman would make a missing one by itself, unbound and without our label.
  CO_RETURN_IF_ERROR((co_await OpenVolume(volume)).status());
  const std::string folder = ContainerFolder(engine_.options(), container);
  const bool strict = engine_.options().strict_seccomp;
  const std::string seccomp = strict ? SeccompPath(engine_.options()) : "";
  const ContainerSpec spec{.name = std::move(container),
                           .volume = std::move(volume),
                           .hostname = hostname,
                           .seccomp = seccomp,
                           .files = folder,
                           .network = network,
                           .limits = engine_.Limits()};
  absl::Status failure;
  for (StartTries tries; tries.failed < kEngineTries; ++tries.failed) {
    if (tries.failed > 0) co_await Pause(kEngineRetryPause);
    auto write = [this, folder, hostname, network, strict]() -> absl::Status {
      if (strict) RETURN_IF_ERROR(WriteSeccompProfile(engine_.options()));
      return WriteContainerFiles(folder, hostname, network);
    };
    CO_RETURN_IF_ERROR(co_await RunOn(engine_.blocking(), std::move(write)));
    auto running = co_await StartOnce(spec, tries);
    if (running.ok()) {
      running->made_anew = tries.made_anew;
      co_return running;
    }
    failure = co_await engine_.Diagnose(running.status());
    if (!absl::IsUnavailable(failure)) break;
    Log(Severity::kWarning, "engine.start", {{"container", spec.name.text()}, {"why", failure}});
  }
  co_await CleanUp(spec);
  co_return failure;
}

asio::awaitable<void> PodmanRuntime::CleanUp(const ContainerSpec& spec) {
  const auto present = co_await engine_.Inspect(spec.name);
  if (!absl::IsNotFound(present.status())) co_return;
  auto clean = [folder = spec.files] { return RemoveContainerFiles(folder); };
  (co_await RunOn(engine_.blocking(), std::move(clean))).IgnoreError();
}

Async<RunningContainer> PodmanRuntime::Attach(EngineName container) {
  CO_ASSIGN_OR_RETURN(const InspectedContainer present, co_await engine_.Inspect(container));
  if (present.init_pid == 0) {
    co_return absl::NotFoundError(StrCat(container.text(), " doesn't run"));
  }
  co_return co_await Take(std::move(container), present.hostname, present.init_pid);
}

// ---- Ending ----

void PodmanRuntime::Kill(const EngineName& container) {
  // Takes a millisecond; podman then finds it ended and needn't wait for that itself.
  const KnownInit known = engine_.Find(container);
  if (known.pidfd) KillProcess(known.pidfd);
  engine_.Forget(container);
}

Async<void> PodmanRuntime::Insist(EngineName container, Arguments arguments) {
  absl::Status failure;
  for (int tries = 0; tries < kEngineTries; ++tries) {
    if (tries > 0) co_await Pause(kEngineRetryPause);
    auto result = co_await engine_.podman().Call(arguments);
    if (result.ok() && result->succeeded()) co_return absl::OkStatus();
    failure = result.ok() ? EngineFailure(arguments.front(), *result) : result.status();
    if (!absl::IsUnavailable(failure)) break;
    const auto exists = co_await engine_.podman().Exists("container", container.text());
    if (exists.ok() && !*exists) co_return absl::OkStatus();
  }
  co_return failure;
}

Async<void> PodmanRuntime::Stop(EngineName container) {
  Kill(container);
  Arguments arguments = {"stop", "--time=0", container.text()};
  co_return co_await Insist(std::move(container), std::move(arguments));
}

Async<void> PodmanRuntime::Remove(EngineName container) {
  Kill(container);
  Arguments arguments = {"rm", "--force", "--ignore", "--time=0", container.text()};
  CO_RETURN_IF_ERROR(co_await Insist(container, std::move(arguments)));
  const std::string folder = ContainerFolder(engine_.options(), container);
  auto clean = [folder] { return RemoveContainerFiles(folder); };
  co_return co_await RunOn(engine_.blocking(), std::move(clean));
}

// ---- Freezing ----

absl::StatusOr<std::string> PodmanRuntime::GroupOf(const EngineName& container) const {
  const KnownInit known = engine_.Find(container);
  if (!known.pidfd) return absl::NotFoundError(StrCat(container.text(), " isn't attached"));
  ASSIGN_OR_RETURN(std::string group, GroupOfProcess(known.pid));
  // Alive now: so the number was this process's all the time.
  if (!IsAlive(known.pidfd)) return absl::NotFoundError(StrCat(container.text(), " ended"));
  return group;
}

Async<void> PodmanRuntime::SetFrozenState(EngineName container, bool frozen) {
  if (!engine_.Limits().cgroup.v2) {
    co_return absl::UnimplementedError("this host has no cgroup v2 to freeze with");
  }
  auto known = GroupOf(container);
  // One that an earlier agent has frozen.
  if (absl::IsNotFound(known.status())) {
    CO_ASSIGN_OR_RETURN(const InspectedContainer present, co_await engine_.Inspect(container));
    CO_ASSIGN_OR_RETURN(known, GroupOfProcess(present.init_pid));
  }
  CO_ASSIGN_OR_RETURN(const std::string group, known);
  const std::string root(kCgroupRoot);
  CO_RETURN_IF_ERROR(SetFrozen(root, group, frozen));
  if (!frozen) co_return absl::OkStatus();
  for (int tries = 0; tries < kFreezeTries; ++tries) {
    if (IsFrozen(root, group)) co_return absl::OkStatus();
    co_await Pause(std::chrono::milliseconds(1));
  }
  // Not half: what has stopped goes on.
  SetFrozen(root, group, false).IgnoreError();
  co_return absl::DeadlineExceededError(StrCat(container.text(), " doesn't freeze"));
}

Async<void> PodmanRuntime::Freeze(EngineName container) {
  co_return co_await SetFrozenState(std::move(container), true);
}

Async<void> PodmanRuntime::Thaw(EngineName container) {
  CO_RETURN_IF_ERROR(co_await engine_.CheckNetwork());
  co_return co_await SetFrozenState(std::move(container), false);
}

// ---- What is there ----

ContainerState PodmanRuntime::StateNow(const ListedContainer& container) const {
  if (container.init_pid == 0 || !engine_.Limits().cgroup.v2) return container.record.state;
  // podman knows nothing of what we froze by ourselves.
  const auto group = GroupOfProcess(container.init_pid);
  const bool frozen = group.ok() && IsFrozen(std::string(kCgroupRoot), *group);
  return frozen ? ContainerState::kFrozen : container.record.state;
}

Async<EngineObjects> PodmanRuntime::ListOurs() {
  const PodmanOptions& options = engine_.options();
  EngineObjects objects;
  Arguments list = ListContainersArguments(options);
  CO_ASSIGN_OR_RETURN(std::string text, co_await engine_.podman().Read(std::move(list)));
  CO_ASSIGN_OR_RETURN(const auto containers, ParseContainers(text, options.instance));
  for (const ListedContainer& container : containers) {
    objects.containers.push_back(container.record);
    objects.containers.back().state = StateNow(container);
  }
  list = ListVolumesArguments(options);
  CO_ASSIGN_OR_RETURN(text, co_await engine_.podman().Read(std::move(list)));
  CO_ASSIGN_OR_RETURN(auto volumes, ParseVolumes(text, options.instance));
  auto read = [this, volumes = std::move(volumes)] {
    removal_.PutBack(volumes);
    return ReadBindings(volumes);
  };
  objects.volumes = co_await RunOn(engine_.blocking(), std::move(read));
  co_return objects;
}

}  // namespace

std::unique_ptr<ContainerRuntime> MakePodmanRuntime(const asio::any_io_executor& executor,
                                                    PodmanOptions options) {
  return std::make_unique<PodmanRuntime>(executor, std::move(options));
}

}  // namespace sandkeep
