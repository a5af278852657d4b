#include "agent/sandbox/manager.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "agent/sandbox/binding.h"
#include "agent/sandbox/host.h"
#include "agent/state_dir.h"
#include "common/await_on.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strand.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

ManagerLimits Consistent(ManagerLimits limits) {
  limits.jobs.background = limits.background;
  return limits;
}

}  // namespace

Manager::Manager(boost::asio::any_io_executor executor, ContainerRuntime& runtime,
                 FileProcess& files, Store& store, Clock& clock, Random& random,
                 ManagerLimits limits, std::string state_dir, Secret secret)
    : limits_(Consistent(std::move(limits))),
      secret_(std::move(secret)),
      clock_(clock),
      room_(state_dir, limits_.min_free_bytes),
      strand_(MakeStrand(executor)),
      pool_(executor, runtime, store, random, limits_.warm, [this] { return HasRoomForWarm(); }),
      capacity_(registry_, clock, limits_.max_running),
      context_{.executor = std::move(executor),
               .disk = disk_.get_executor(),
               .runtime = runtime,
               .files = files,
               .store = store,
               .clock = clock,
               .random = random,
               .capacity = capacity_,
               .registry = registry_,
               .pool = pool_,
               .limits = limits_,
               .state_dir = std::move(state_dir)},
      lock_(strand_),
      ready_(absl::UnavailableError("the agent is taking stock: try again in a moment")) {}

Manager::~Manager() {
  disk_.stop();
  disk_.join();
}

absl::Status Manager::Ready() const {
  const std::lock_guard lock(ready_mutex_);
  return ready_;
}

void Manager::SetReady(absl::Status ready) {
  const std::lock_guard lock(ready_mutex_);
  ready_ = std::move(ready);
}

std::shared_ptr<Sandbox> Manager::FindNamed(const PrincipalId& principal,
                                            const Label& label) const {
  if (std::shared_ptr<Sandbox> sandbox = registry_.Find(principal, label)) return sandbox;
  const absl::StatusOr<SandboxKey> key = SandboxKey::Parse(label.text());
  if (!key.ok()) return nullptr;
  std::shared_ptr<Sandbox> sandbox = registry_.Find(*key);
  return sandbox && sandbox->principal() == principal ? sandbox : nullptr;
}

absl::StatusOr<std::shared_ptr<Sandbox>> Manager::Resolve(const SandboxRef& ref) const {
  RETURN_IF_ERROR(Ready());
  std::shared_ptr<Sandbox> sandbox;
  if (ref.key) {
    sandbox = registry_.Find(*ref.key);
  } else if (ref.principal) {
    ASSIGN_OR_RETURN(const Label label, Label::Parse(ref.label));
    sandbox = FindNamed(*ref.principal, label);
  } else {
    return absl::InvalidArgumentError("a sandbox is named by principal and label, or by key");
  }
  const auto recorded = [](const SandboxView& view) { return view.recorded; };
  if (!sandbox || !sandbox->Peek(recorded)) return NoSuchSandbox();
  if (ref.principal && sandbox->principal() != *ref.principal) return NoSuchSandbox();
  return sandbox;
}

absl::StatusOr<std::shared_ptr<Sandbox>> Manager::FindOrMake(const PrincipalId& principal,
                                                             const Label& label) {
  for (;;) {
    if (std::shared_ptr<Sandbox> found = FindNamed(principal, label)) return found;
    RETURN_IF_ERROR(capacity_.MayMakeAnother(principal));
    RETURN_IF_ERROR(MayGrow(principal, 0));
    std::shared_ptr<Sandbox> made = MakeNew(principal, label);
    // Refused: another call was quicker.
    if (registry_.Add(made)) return made;
    made->GiveBackWarm();
  }
}

std::shared_ptr<Sandbox> Manager::MakeNew(const PrincipalId& principal, const Label& label) {
  std::optional<WarmContainer> warm = pool_.Claim();
  SandboxRow row{.key = MakeSandboxKey(secret_, principal, label),
                 .principal = principal,
                 .label = label,
                 .generation = Generation::Random(context_.random),
                 .volume = warm ? warm->volume : EngineName::Make(context_.random),
                 .container = std::nullopt,
                 .created = context_.clock.Now(),
                 .last_used = absl::InfinitePast()};
  return std::make_shared<Sandbox>(context_, std::move(row), false, std::vector<JobRow>(),
                                   std::move(warm));
}

Async<StartedJob> Manager::StartJob(PrincipalId principal, std::string label, JobSpec spec) {
  CO_RETURN_IF_ERROR(Ready());
  CO_ASSIGN_OR_RETURN(const Label parsed, Label::Parse(label));
  std::optional<absl::Duration> lowered;
  if (spec.timeout != absl::InfiniteDuration() && spec.timeout > limits_.max_timeout) {
    spec.timeout = limits_.max_timeout;
    lowered = limits_.max_timeout;
  }
  absl::StatusOr<StartedJob> started;
  for (int tries = 0; tries < kMaxResolveTries; ++tries) {
    CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, FindOrMake(principal, parsed));
    started = co_await sandbox->StartJob(spec);
    if (started.ok()) AddDiskNotes(*sandbox, *started);
    if (!absl::IsAborted(started.status())) break;
  }
  if (started.ok()) started->timeout_lowered_to = lowered;
  co_return started;
}

Async<WatchedJob> Manager::WatchJob(SandboxRef ref, std::optional<JobId> id,
                                    std::int64_t from_offset, bool follow) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  co_return co_await sandbox->WatchJob(std::move(id), from_offset, follow);
}

absl::StatusOr<std::optional<SettledJob>> Manager::FindSettledJob(const SandboxRef& ref,
                                                                  const JobId& id) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  return sandbox->FindSettled(id);
}

Async<std::vector<JobSnapshot>> Manager::ListJobs(SandboxRef ref, int limit) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  co_return co_await sandbox->ListJobs(limit);
}

Async<std::int64_t> Manager::SendInput(SandboxRef ref, JobId id, std::string data, bool end) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  co_return co_await sandbox->SendInput(std::move(id), std::move(data), end);
}

Async<JobSnapshot> Manager::SignalJob(SandboxRef ref, JobId id, int signal, absl::Duration grace) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  co_return co_await sandbox->SignalJob(std::move(id), signal, grace);
}

Async<std::vector<SandboxSnapshot>> Manager::List(std::optional<PrincipalId> principal) {
  CO_RETURN_IF_ERROR(Ready());
  std::vector<SandboxSnapshot> list;
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    if (principal && sandbox->principal() != *principal) continue;
    SandboxView view = sandbox->View();
    if (view.recorded) list.push_back(std::move(view.snapshot));
  }
  // Two of one moment always in the same order.
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::tie(b.last_used, a.label, a.principal) <
           std::tie(a.last_used, b.label, b.principal);
  });
  co_return list;
}

absl::StatusOr<SandboxSnapshot> Manager::Get(const SandboxRef& ref) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  return sandbox->View().snapshot;
}

Async<RemovedSandbox> Manager::Remove(SandboxRef ref, bool remove_volume) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  const absl::StatusOr<RemovedSandbox> removed = co_await sandbox->Remove(remove_volume);
  if (removed.ok() && removed->volume) EmptySoon();
  co_return removed;
}

Async<SandboxSnapshot> Manager::Freeze(SandboxRef ref) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  CO_RETURN_IF_ERROR(co_await sandbox->FreezeNow());
  co_return sandbox->View().snapshot;
}

Async<SandboxSnapshot> Manager::Thaw(SandboxRef ref) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  CO_RETURN_IF_ERROR(co_await sandbox->ThawNow());
  co_return sandbox->View().snapshot;
}

Async<EngineInfo> Manager::Engine() { return AwaitOn(strand_, EngineHere()); }

Async<EngineInfo> Manager::EngineHere() {
  // While stock is taken the lock is held for as long as the engine takes.
  const bool waits = !lock_.TryAcquire();
  if (waits) CO_RETURN_IF_ERROR(Ready());
  const StrandLock::Guard guard = co_await lock_.Acquire();
  const bool fresh =
      engine_ && engine_->problems.empty() && context_.clock.Steady() - engine_asked_ < kProbeTtl;
  if (!fresh) {
    CO_ASSIGN_OR_RETURN(engine_, co_await context_.runtime.Probe());
    engine_asked_ = context_.clock.Steady();
  }
  co_return *engine_;
}

Async<ManagerInfo> Manager::Info() {
  ManagerInfo info;
  absl::StatusOr<EngineInfo> engine = co_await Engine();
  if (engine.ok()) {
    info.engine = *std::move(engine);
  } else {
    info.engine.problems.emplace_back(ToStd(engine.status().message()));
  }
  info.running = capacity_.used();
  info.warm = pool_.ready();
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const SandboxState state =
        sandbox->Peek([](const SandboxView& view) { return view.snapshot.state; });
    ++info.known;
    if (state == SandboxState::kFrozen) ++info.frozen;
    if (state == SandboxState::kStopped) ++info.stopped;
  }
  CO_ASSIGN_OR_RETURN(const HostReading host, co_await ReadHost());
  info.disk_free_bytes = host.disk_free;
  info.memory_available_bytes = host.memory_available;
  info.disk_total_bytes = host.disk_total;
  for (DiskWarning& warning : WarningsOf(info.known, host)) {
    info.warnings.push_back(std::move(warning.text));
  }
  co_return info;
}

absl::StatusOr<std::unique_ptr<SandboxManager>> MakeSandboxManager(
    boost::asio::any_io_executor executor, ContainerRuntime& runtime, FileProcess& files,
    Store& store, Clock& clock, Random& random, ManagerLimits limits, std::string state_dir) {
  ASSIGN_OR_RETURN(Secret secret, KeySecret(state_dir, random));
  RETURN_IF_ERROR(MakeFolder(StrCat(state_dir, "/spools")));
  return std::make_unique<Manager>(std::move(executor), runtime, files, store, clock, random,
                                   std::move(limits), std::move(state_dir), std::move(secret));
}

}  // namespace sandkeep
