// How a sandbox that nobody uses waits: frozen, then stopped, then without a container; and how a
// frozen one goes on.
//
// A call that comes meanwhile finds the sandbox resting, waits for the lock and wakes it. What is
// about to happen is recorded before it happens.

#include <utility>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/lost.h"
#include "agent/sandbox/packages.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/pause.h"
#include "common/status_macros.h"

namespace sandkeep {

Async<bool> Sandbox::MakeRoom() { return OnStrand(MakeRoomHere()); }
Async<void> Sandbox::FreezeNow() { return OnStrand(FreezeNowHere()); }
Async<void> Sandbox::ThawNow() { return OnStrand(ThawNowHere()); }
Async<bool> Sandbox::FreezeIdle() { return OnStrand(FreezeIdleHere()); }
Async<bool> Sandbox::StopFrozen() { return OnStrand(StopFrozenHere()); }
Async<bool> Sandbox::RemoveIdle() { return OnStrand(RemoveIdleHere()); }
Async<bool> Sandbox::Resume() { return OnStrand(ResumeHere()); }

Async<void> Sandbox::GoOnIfPaused() { return OnStrand(GoOnIfPausedHere()); }

Async<void> Sandbox::HoldStill() { return OnStrand(HoldStillHere()); }
Async<void> Sandbox::EndForGood() { return OnStrand(EndForGoodHere()); }

// Where its processes can't be held they end as they are.
Async<void> Sandbox::HoldStillHere() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (state_ == SandboxState::kRunning) LogFailure("sandbox.not_held", co_await SuspendContainer());
  co_return absl::OkStatus();
}

Async<void> Sandbox::EndForGoodHere() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  const bool up = state_ == SandboxState::kRunning || state_ == SandboxState::kFrozen;
  if (!up) co_return absl::OkStatus();
  co_return co_await StopLocked(LostToRestart());
}

Async<bool> Sandbox::MakeRoomHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  if (!guard || state_ != SandboxState::kRunning) co_return false;
  const Activity activity = ActivityNow();
  if (!Yields(activity, context_.clock.Steady())) co_return false;
  const bool busy = IsBusy(activity);
  Log(Severity::kInfo, "sandbox.makes_room", {{"sandbox", key_.text()}, {"busy", busy}});
  const RestGuard resting(*this);
  const bool removes = context_.limits.recycle_removes && !busy;
  Async<void> making = removes ? RemoveContainer(RemovedOnPurpose()) : FreezeLocked(busy);
  absl::Status made = co_await std::move(making);
  // One that can't be frozen gives up its place all the same, if that ends nothing.
  if (!made.ok() && !busy && state_ == SandboxState::kRunning) {
    made = co_await StopLocked(StoppedIdle());
  }
  co_return made.ok();
}

Async<void> Sandbox::FreezeNowHere() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (state_ == SandboxState::kFrozen) co_return absl::OkStatus();
  if (state_ != SandboxState::kRunning) {
    co_return absl::FailedPreconditionError("the sandbox doesn't run");
  }
  const Activity activity = ActivityNow();
  if (activity.calls > 0 || activity.holds > 0 || activity.running_jobs > 0) {
    co_return absl::FailedPreconditionError(
        "the sandbox is busy: a command runs, or somebody reads from it");
  }
  co_return co_await FreezeUnused();
}

Async<void> Sandbox::ThawNowHere() {
  // Or it would be as idle as before, and be frozen again at once.
  last_call_ = context_.clock.Steady();
  Publish();
  // A waking that is under way may fail, and the next try be minutes away. In one that is only
  // being made, or started again, nothing waits to go on.
  const bool waits = jobs_->running() > 0 || jobs_->left_behind() > 0;
  if (resting_ > 0 || (waits && state_ == SandboxState::kStarting)) co_await lock_.Acquire();
  if (state_ != SandboxState::kFrozen) co_return absl::OkStatus();
  co_return (co_await EnsureRunning()).status();
}

Async<bool> Sandbox::FreezeIdleHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  if (!guard || state_ != SandboxState::kRunning) co_return false;
  if (!IdleSince(ActivityNow(), context_.limits.background, context_.clock.Steady())) {
    co_return false;
  }
  const absl::Status frozen = co_await FreezeUnused();
  co_return frozen.ok();
}

Async<bool> Sandbox::StopFrozenHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  const auto may = [this] {
    return state_ == SandboxState::kFrozen &&
           MayBeEnded(ActivityNow(), context_.limits.background, context_.clock.Steady());
  };
  if (!guard || !may()) co_return false;
  // One that was frozen for another's sake was frozen at once.
  if (!packages_noted_) co_await NotePackages();
  // A call may wait for the lock by now.
  if (!may()) co_return false;
  const absl::Status stopped = co_await StopLocked(StoppedIdle());
  co_return stopped.ok();
}

// A call that comes while it is being removed waits for the lock, and has it rebuilt.
Async<bool> Sandbox::RemoveIdleHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  if (!guard || state_ == SandboxState::kStarting || state_ == SandboxState::kAbsent) {
    co_return false;
  }
  if (!MayBeEnded(ActivityNow(), context_.limits.background, context_.clock.Steady())) {
    co_return false;
  }
  const RestGuard resting(*this);
  absl::Status removed = co_await RemoveContainer(StoppedIdle());
  // Nothing was ever written in it.
  const bool unused = row_.last_used == absl::InfinitePast();
  if (removed.ok() && unused) removed = co_await UndoCreate();
  co_return removed.ok();
}

Async<bool> Sandbox::ResumeHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  if (!guard || state_ != SandboxState::kFrozen) co_return false;
  const bool had_place = has_slot_;
  has_slot_ = had_place || context_.capacity.TryTake();
  if (!has_slot_) co_return false;
  SetState(SandboxState::kStarting);
  const absl::Status thawed = co_await ThawContainer();
  if (!thawed.ok()) {
    co_await NotWoken(SandboxState::kFrozen, thawed, had_place);
    if (state_ == SandboxState::kBroken) (co_await Settle()).IgnoreError();
    co_return false;
  }
  ForgetRest();
  SetState(SandboxState::kRunning);
  co_return true;
}

Async<void> Sandbox::GoOnIfPausedHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  const bool paused = guard && state_ == SandboxState::kRunning && is_frozen_ && is_frozen_();
  if (!paused) co_return absl::OkStatus();
  const absl::Status thawed = co_await context_.runtime.Thaw(*row_.container);
  Log(Severity::kWarning, "sandbox.was_paused_by_hand",
      {{"sandbox", key_.text()}, {"goes_on", thawed}});
  co_return thawed;
}

Async<void> Sandbox::FreezeUnused() {
  const RestGuard resting(*this);
  co_await NotePackages();
  const absl::Status frozen = co_await FreezeLocked(/*for_room=*/false);
  packages_noted_ = frozen.ok();
  co_return frozen;
}

Async<void> Sandbox::FreezeLocked(bool for_room) {
  const RestGuard resting(*this);
  // A frozen init tells the next agent of no end that this one hadn't recorded yet.
  for (int looks = 0; looks < kRecordLooks && !jobs_->all_recorded(); ++looks) {
    co_await Pause(kRecordPause);
  }
  absl::Status frozen = co_await RecordRest(Rest::kFrozen);
  if (frozen.ok()) frozen = co_await SuspendContainer();
  // Its init may have ended meanwhile.
  if (state_ != SandboxState::kRunning) co_return absl::UnavailableError("the sandbox ended");
  LogFailure("sandbox.not_frozen", frozen);
  if (!frozen.ok()) {
    // Some of it may have stopped.
    const absl::Status thawed = co_await context_.runtime.Thaw(*row_.container);
    if (state_ != SandboxState::kRunning) co_return frozen;
    if (thawed.ok() || absl::IsUnimplemented(thawed)) {
      ForgetRest();
      co_return frozen;
    }
    // Nor does it go on: it keeps its place until it does.
    LogFailure("sandbox.not_thawed", thawed);
    RetryLater();
    SetState(SandboxState::kFrozen);
    co_return frozen;
  }
  ReleaseSlot();
  for_room_ = for_room;
  SetState(SandboxState::kFrozen);
  co_return absl::OkStatus();
}

Async<void> Sandbox::SuspendContainer() {
  const absl::Status frozen = co_await context_.runtime.Freeze(*row_.container);
  if (!absl::IsUnimplemented(frozen)) co_return frozen;
  const absl::Status told = jobs_->Freeze(true);
  frozen_by_init_ = told.ok();
  co_return told;
}

Async<void> Sandbox::ThawContainer() {
  if (!frozen_by_init_) {
    const absl::Status thawed = co_await context_.runtime.Thaw(*row_.container);
    if (!thawed.ok() && !absl::IsUnimplemented(thawed)) co_return thawed;
  }
  if (!attached_) CO_RETURN_IF_ERROR(co_await AttachRunning());
  // Harmless to those that weren't stopped, and another agent may have stopped them.
  co_return jobs_->Freeze(false);
}

Async<void> Sandbox::StopLocked(Outcome lost) {
  const RestGuard resting(*this);
  CO_RETURN_IF_ERROR(co_await RecordRest(Rest::kStopped));
  co_await EndJobs(std::move(lost));
  const absl::Status stopped = co_await context_.runtime.Stop(*row_.container);
  LogFailure("sandbox.not_stopped", stopped);
  if (!stopped.ok()) {
    SetBroken(/*died=*/true);
    co_return stopped;
  }
  ReleaseSlot();
  SetState(SandboxState::kStopped);
  co_return absl::OkStatus();
}

boost::asio::awaitable<void> Sandbox::NotePackages() {
  if (!row_.container || !recorded_) co_return;
  const absl::StatusOr<InstalledPackages> found =
      co_await FindInstalled(context_.files, context_.disk, *row_.container);
  if (!found.ok()) {
    if (!absl::IsNotFound(found.status())) LogFailure("sandbox.packages_unknown", found.status());
    co_return;
  }
  std::string command = ReinstallCommand(*found);
  // In one that was made anew and not used yet nothing is installed, but may still be missed.
  const bool unused = command.empty() && !ran_;
  if (unused || command == row_.reinstall) co_return;
  row_.reinstall = std::move(command);
  LogFailure("sandbox.packages_not_written",
             co_await context_.store.SetReinstall(key_, row_.reinstall));
}

Async<void> Sandbox::RecordRest(Rest rest) {
  row_.rest = rest;
  row_.rest_since = context_.clock.Now();
  return context_.store.SetRest(key_, row_.rest, row_.rest_since);
}

// Nobody waits for it: a row that says too much only costs the next agent a look.
void Sandbox::ForgetRest() {
  if (row_.rest == Rest::kNone) return;
  row_.rest = Rest::kNone;
  row_.rest_since = absl::InfinitePast();
  Spawn(strand_, "sandbox.rest", Shield(shared_from_this(), WriteRest(row_.rest, row_.rest_since)));
}

boost::asio::awaitable<void> Sandbox::WriteRest(Rest rest, absl::Time since) {
  LogFailure("sandbox.rest_not_written", co_await context_.store.SetRest(key_, rest, since));
}

}  // namespace sandkeep
