// What the manager does by the clock and by what the machine has left: idle sandboxes are frozen,
// stopped and removed, those frozen to make room go on; and how all end with the machine.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "agent/sandbox/manager.h"
#include "agent/sandbox/reaper.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

Async<bool> Take(Sandbox& sandbox, LifeStep step) {
  switch (step) {
    case LifeStep::kFreeze:
      return sandbox.FreezeIdle();
    case LifeStep::kStop:
      return sandbox.StopFrozen();
    case LifeStep::kRemove:
      return sandbox.RemoveIdle();
    case LifeStep::kSettle:
      return sandbox.SettleBroken();
    case LifeStep::kResume:
    case LifeStep::kNone:
      break;
  }
  return sandbox.Resume();
}

// A command is on its way in, or one runs and somebody reads from it.
bool IsWaitedFor(const SandboxView& view) {
  const Activity& activity = view.activity;
  return view.snapshot.state == SandboxState::kRunning &&
         (activity.calls > 0 || (activity.holds > 0 && activity.running_jobs > 0));
}

boost::asio::awaitable<void> HoldOne(std::shared_ptr<Sandbox> sandbox) {
  (co_await sandbox->HoldStill()).IgnoreError();
}

boost::asio::awaitable<void> EndOne(std::shared_ptr<Sandbox> sandbox,
                                    std::shared_ptr<Countdown> countdown) {
  const absl::Status ended = co_await sandbox->EndForGood();
  if (!ended.ok()) {
    Log(Severity::kWarning, "stop.sandbox_failed",
        {{"sandbox", sandbox->key().text()}, {"why", ended}});
  }
  if (--countdown->left == 0) countdown->done.WakeAll();
}

// The one that has rested in this state for longest, and whose end would end nothing else.
std::shared_ptr<Sandbox> LongestIn(const Registry& registry, SandboxState state,
                                   absl::Duration background, Clock::Monotonic now) {
  std::shared_ptr<Sandbox> longest;
  Clock::Monotonic since = Clock::Monotonic::max();
  for (const std::shared_ptr<Sandbox>& sandbox : registry.All()) {
    const bool longer = sandbox->Peek([&](const SandboxView& view) {
      const bool rests = view.snapshot.state == state && view.state_since < since &&
                         MayBeEnded(view.activity, background, now);
      if (rests) since = view.state_since;
      return rests;
    });
    if (longer) longest = sandbox;
  }
  return longest;
}

bool IsShort(const HostReading& host, const ManagerLimits& limits) {
  if (limits.mem_reserve_bytes == 0) return false;
  const bool low = host.memory_available > 0 && host.memory_available < limits.mem_reserve_bytes;
  return low || host.memory_pressure >= kMemoryPressurePercent;
}

}  // namespace

Async<HostReading> Manager::ReadHost() {
  auto read = [state_dir = context_.state_dir]() { return ReadHostFrom(state_dir); };
  return RunOn(context_.disk, std::move(read));
}

Async<bool> Manager::HasRoomForWarm() {
  if (!Ready().ok()) co_return false;
  CO_ASSIGN_OR_RETURN(const HostReading host, co_await ReadHost());
  co_return host.disk_free >= limits_.min_free_bytes && !IsShort(host, limits_);
}

Async<void> Manager::StopAll() { return AwaitOn(strand_, StopAllHere()); }

Async<void> Manager::StopAllHere() {
  SetReady(absl::UnavailableError("the agent is being stopped: try again later"));
  const auto sandboxes = registry_.All();
  // One that is being removed, say, keeps no other from being held.
  for (const std::shared_ptr<Sandbox>& sandbox : sandboxes) {
    Spawn(strand_, "stop.hold", HoldOne(sandbox));
  }
  const auto countdown = std::make_shared<Countdown>(strand_);
  countdown->left = sandboxes.size();
  for (const std::shared_ptr<Sandbox>& sandbox : sandboxes) {
    Spawn(strand_, "stop.sandbox", EndOne(sandbox, countdown));
  }
  while (countdown->left > 0) co_await countdown->done.Wait();
  co_await pool_.Close();
  co_return absl::OkStatus();
}

boost::asio::awaitable<void> Manager::Live() {
  boost::asio::steady_timer timer(strand_);
  const auto looks = std::max<std::int64_t>(limits_.host_interval / limits_.life_interval, 1);
  for (std::int64_t look = 0;; ++look) {
    timer.expires_after(absl::ToChronoNanoseconds(limits_.life_interval));
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_await TakeSteps();
    if (look % looks == 0) co_await Spare();
  }
}

boost::asio::awaitable<void> Manager::TakeSteps() {
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    // While all are being stopped, they are held still.
    const bool waits = Ready().ok() && sandbox->Peek(IsWaitedFor);
    if (waits) (co_await sandbox->GoOnIfPaused()).IgnoreError();
    const LifeStep step = sandbox->Peek([&](const SandboxView& view) {
      return Due(view, limits_, context_.clock.Steady(), capacity_.has_free_place());
    });
    if (step == LifeStep::kNone) continue;
    const absl::StatusOr<bool> taken = co_await Take(*sandbox, step);
    if (taken.ok()) continue;
    Log(Severity::kWarning, "sandbox.step_failed",
        {{"sandbox", sandbox->key().text()}, {"why", taken.status()}});
  }
}

// One at each look: what it frees is seen at the next.
boost::asio::awaitable<void> Manager::Spare() {
  const absl::StatusOr<HostReading> host = co_await ReadHost();
  if (!host.ok()) co_return;
  JournalWarnings(*host);
  const Clock::Monotonic now = context_.clock.Steady();
  if (IsShort(*host, limits_)) {
    const auto frozen = LongestIn(registry_, SandboxState::kFrozen, limits_.background, now);
    if (frozen) {
      Log(Severity::kInfo, "sandbox.stopped_for_memory", {{"sandbox", frozen->key().text()}});
      (co_await frozen->StopFrozen()).IgnoreError();
    }
  }
  if (host->disk_free < limits_.min_free_bytes) {
    const auto stopped = LongestIn(registry_, SandboxState::kStopped, limits_.background, now);
    if (stopped) {
      Log(Severity::kInfo, "sandbox.removed_for_disk", {{"sandbox", stopped->key().text()}});
      (co_await stopped->RemoveIdle()).IgnoreError();
    }
  }
}

std::vector<DiskWarning> Manager::WarningsOf(int known, const HostReading& host) const {
  std::vector<DiskWarning> warnings;
  if (IsNearly(host.disk_total - host.disk_free, host.disk_total)) {
    warnings.push_back(
        {"host_disk", StrCat("the disk is nearly full (", DiskWords(host.disk_free),
                             " free): remove sandboxes that nobody needs, run sandkeepctl gc, "
                             "or make it larger")});
  }
  if (IsNearly(known, kMaxSandboxes)) {
    warnings.push_back({"sandboxes", StrCat(known, " sandboxes are known, and there is room for ",
                                            kMaxSandboxes, ": run sandkeepctl gc")});
  }
  if (IsShort(host, limits_)) {
    warnings.push_back({"memory",
                        "memory is short: frozen sandboxes are being stopped; lower SANDBOX_MAX or "
                        "SANDBOX_MEMORY"});
  }
  int nearly = 0;
  int paused = 0;
  for (const auto& [principal, share] : disk_book_.shares()) {
    if (IsNearly(share.charged, limits_.principal_disk_bytes)) ++nearly;
    paused += share.paused;
  }
  if (nearly > 0) {
    warnings.push_back(
        {"principal_disk",
         StrCat(nearly, nearly == 1 ? " principal uses" : " principals use", " more than ",
                kWarnPercent, " % of PRINCIPAL_DISK (", DiskWords(limits_.principal_disk_bytes),
                "): raise it, or remove sandboxes with sandkeepctl rm --files")});
  }
  if (paused > 0) {
    warnings.push_back({"paused", StrCat("in ", paused, paused == 1 ? " sandbox" : " sandboxes",
                                         " commands wait for room on the disk")});
  }
  return warnings;
}

void Manager::JournalWarnings(const HostReading& host) {
  const auto known = static_cast<int>(registry_.size());
  std::set<std::string_view> now;
  for (const DiskWarning& warning : WarningsOf(known, host)) {
    now.insert(warning.kind);
    if (journaled_.contains(warning.kind)) continue;
    Log(Severity::kWarning, "host.warning", {{"kind", warning.kind}, {"what", warning.text}});
  }
  journaled_ = std::move(now);
}

}  // namespace sandkeep
