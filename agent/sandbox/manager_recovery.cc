// The manager at the agent's start, and its sweep of old jobs.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>
#include <utility>

#include "agent/sandbox/garbage.h"
#include "agent/sandbox/manager.h"
#include "agent/sandbox/spools.h"
#include "agent/state_dir.h"
#include "common/await_on.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// One hung init must not hold up the others.
boost::asio::awaitable<void> AdoptOne(std::shared_ptr<Sandbox> sandbox,
                                      std::optional<ContainerState> container,
                                      std::shared_ptr<Countdown> countdown) {
  const absl::Status adopted = co_await sandbox->Adopt(container);
  if (!adopted.ok()) {
    Log(Severity::kWarning, "recover.sandbox_failed",
        {{"sandbox", sandbox->key().text()}, {"why", adopted}});
  }
  if (--countdown->left == 0) countdown->done.WakeAll();
}

}  // namespace

Async<void> Manager::Recover() { return AwaitOn(strand_, RecoverHere()); }

Async<void> Manager::RecoverHere() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (Ready().ok()) co_return absl::OkStatus();
  absl::Status recovered = co_await DropWarm();
  if (recovered.ok()) recovered = co_await PlanAndCarryOut();
  SetReady(recovered);
  if (recovered.ok()) {
    Spawn(strand_, "manager.sweep", Sweep());
    Spawn(strand_, "manager.trim", TrimOutput());
    Spawn(strand_, "manager.live", Live());
    const bool watches = limits_.disk_interval != absl::InfiniteDuration();
    if (watches) Spawn(strand_, "manager.disk", WatchDisk());
    if (limits_.file_ttl != absl::InfiniteDuration()) Spawn(strand_, "manager.cleanup", CleanUp());
    EmptySoon();
    pool_.Fill();
  } else {
    Log(Severity::kError, "recover.failed", {{"why", recovered}});
    if (!std::exchange(retrying_, true)) Spawn(strand_, "manager.retry", RetryRecovery());
  }
  co_return recovered;
}

Async<void> Manager::PlanAndCarryOut() {
  CO_ASSIGN_OR_RETURN(RecoveryPlan plan, co_await Plan());
  co_return co_await CarryOut(std::move(plan));
}

boost::asio::awaitable<void> Manager::RetryRecovery() {
  boost::asio::steady_timer timer(strand_);
  while (!Ready().ok()) {
    timer.expires_after(kRecoveryRetry);
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    (co_await RecoverHere()).IgnoreError();  // It says why.
  }
}

// Of an earlier agent's pool, what no sandbox has taken.
Async<void> Manager::DropWarm() {
  CO_ASSIGN_OR_RETURN(const std::vector<WarmRow> warm, co_await context_.store.LoadWarm());
  if (warm.empty()) co_return absl::OkStatus();
  std::set<EngineName> taken;
  CO_ASSIGN_OR_RETURN(const auto rows, co_await context_.store.LoadSandboxes());
  for (const SandboxRow& row : rows) taken.insert(row.volume);
  for (const WarmRow& row : warm) {
    absl::Status removed;
    if (!taken.contains(row.volume)) {
      removed = co_await context_.runtime.Remove(row.container);
      if (removed.ok()) removed = co_await context_.runtime.RemoveVolume(row.volume);
    }
    // What can't be removed stays recorded for the next agent.
    if (removed.ok()) removed = co_await context_.store.DeleteWarm(row.container);
    if (!removed.ok()) Log(Severity::kWarning, "recover.left", {{"why", removed}});
  }
  co_return absl::OkStatus();
}

Async<RecoveryPlan> Manager::Plan() {
  CO_ASSIGN_OR_RETURN(const EngineObjects objects, co_await context_.runtime.ListOurs());
  CO_ASSIGN_OR_RETURN(std::vector<SandboxRow> rows, co_await context_.store.LoadSandboxes());
  co_return Reconcile(std::move(rows), objects);
}

// Records first: whatever happens from then on, the next start finds what this one knew.
Async<void> Manager::CarryOut(RecoveryPlan plan) {
  CO_RETURN_IF_ERROR(co_await RecordChanges(plan));
  for (const EngineName& container : plan.remove_containers) {
    Log(Severity::kWarning, "recover.container_of_nobody", {{"name", container.text()}});
  }
  leftovers_.containers = plan.remove_containers;
  leftovers_.containers.insert(leftovers_.containers.end(), plan.gone_containers.begin(),
                               plan.gone_containers.end());
  leftovers_.volumes = plan.remove_volumes;
  co_await RemoveLeftovers();
  for (const KeptVolume& volume : plan.kept_volumes) {
    Log(Severity::kWarning, "recover.volume_of_nobody",
        {{"name", volume.name.text()}, {"why", volume.reason}});
  }
  CO_RETURN_IF_ERROR(co_await AddSandboxes(plan));
  CO_RETURN_IF_ERROR(co_await DropSpoolsOfNobody());
  CO_RETURN_IF_ERROR(co_await AdoptAll(plan));
  co_await ForgetOldJobs();
  Log(Severity::kInfo, "recover.done",
      {{"sandboxes", plan.sandboxes.size()}, {"running", capacity_.used()}});
  co_return absl::OkStatus();
}

// One that the engine can't remove keeps nobody from their sandboxes: it is tried again.
boost::asio::awaitable<void> Manager::RemoveLeftovers() {
  Leftovers left;
  for (const EngineName& container : leftovers_.containers) {
    const absl::Status removed = co_await context_.runtime.Remove(container);
    if (removed.ok()) continue;
    Log(Severity::kWarning, "recover.left", {{"name", container.text()}, {"why", removed}});
    left.containers.push_back(container);
  }
  for (const EngineName& volume : leftovers_.volumes) {
    const absl::Status removed = co_await context_.runtime.RemoveVolume(volume);
    if (removed.ok()) continue;
    Log(Severity::kWarning, "recover.left", {{"name", volume.text()}, {"why", removed}});
    left.volumes.push_back(volume);
  }
  leftovers_ = std::move(left);
}

Async<void> Manager::RecordChanges(const RecoveryPlan& plan) {
  for (const FoundSandbox& found : plan.sandboxes) {
    if (found.row_changed) CO_RETURN_IF_ERROR(co_await context_.store.PutSandbox(found.row));
  }
  for (const SandboxKey& key : plan.forget) {
    Log(Severity::kWarning, "recover.volume_gone", {{"sandbox", key.text()}});
    CO_RETURN_IF_ERROR(co_await context_.store.DeleteSandbox(key));
  }
  co_return absl::OkStatus();
}

Async<void> Manager::AddSandboxes(RecoveryPlan& plan) {
  CO_ASSIGN_OR_RETURN(std::vector<JobRow> jobs, co_await context_.store.LoadJobs());
  std::map<SandboxKey, std::vector<JobRow>> by_sandbox;
  for (JobRow& job : jobs) by_sandbox[job.sandbox].push_back(std::move(job));
  for (const FoundSandbox& found : plan.sandboxes) {
    auto node = by_sandbox.extract(found.row.key);
    std::vector<JobRow> own;
    if (!node.empty()) own = std::move(node.mapped());
    auto prepare = [folder = SpoolFolder(context_.state_dir, found.row.key)]() {
      return MakeFolder(folder);
    };
    CO_RETURN_IF_ERROR(co_await RunOn(context_.disk, std::move(prepare)));
    auto sandbox = std::make_shared<Sandbox>(context_, found.row, true, std::move(own));
    if (found.bind) {
      // It works without; only a lost database would miss it.
      const absl::Status bound = co_await sandbox->Bind();
      if (!bound.ok()) {
        Log(Severity::kWarning, "recover.not_bound",
            {{"sandbox", sandbox->key().text()}, {"why", bound}});
      }
    }
    registry_.Add(sandbox);
  }
  std::vector<JobKey> of_nobody;
  for (const auto& [key, rows] : by_sandbox) {
    for (const JobRow& job : rows) of_nobody.push_back({key, job.id});
  }
  co_return co_await context_.store.DeleteJobs(std::move(of_nobody));
}

Async<void> Manager::AdoptAll(const RecoveryPlan& plan) {
  const auto countdown = std::make_shared<Countdown>(strand_);
  countdown->left = plan.sandboxes.size();
  for (const FoundSandbox& found : plan.sandboxes) {
    std::shared_ptr<Sandbox> sandbox = registry_.Find(found.row.key);
    Spawn(strand_, "recover.adopt", AdoptOne(std::move(sandbox), found.container, countdown));
  }
  while (countdown->left > 0) co_await countdown->done.Wait();
  co_return absl::OkStatus();
}

Async<void> Manager::DropSpoolsOfNobody() {
  auto drop = [this]() {
    for (const std::string& name : SpoolsOfNobody(registry_, context_.state_dir)) {
      const absl::Status removed = RemoveSpools(context_.state_dir, name);
      if (!removed.ok()) Log(Severity::kWarning, "recover.spools_left", {{"why", removed}});
    }
    return absl::OkStatus();
  };
  return RunOn(context_.disk, std::move(drop));
}

}  // namespace sandkeep
