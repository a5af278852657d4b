// How a sandbox's container goes away, and is found again at the agent's start.

#include <algorithm>
#include <utility>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/lost.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/spools.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"

namespace sandkeep {

Async<void> Sandbox::Adopt(std::optional<ContainerState> found) {
  return OnStrand(AdoptHere(found));
}
Async<RemovedSandbox> Sandbox::Remove(bool remove_volume) {
  return OnStrand(RemoveHere(remove_volume));
}

Sandbox::RestGuard::RestGuard(Sandbox& sandbox) : sandbox_(sandbox) { ++sandbox_.resting_; }
Sandbox::RestGuard::~RestGuard() { --sandbox_.resting_; }

// As long as the registry has it, nobody makes another of its key: calls that find it wait for the
// lock. So what goes by its key goes first.
Async<void> Sandbox::ForgetSelf() {
  forgotten_ = true;
  absl::Status deleted;
  if (recorded_) deleted = co_await context_.store.DeleteSandbox(key_);
  LogFailure("sandbox.row_left", deleted);
  auto set_aside = [&state_dir = context_.state_dir, &key = key_, &random = context_.random] {
    return SetSpoolsAside(state_dir, key.text(), random);
  };
  const absl::StatusOr<std::string> aside = co_await RunOn(context_.disk, std::move(set_aside));
  LogFailure("sandbox.spools_left", aside.status());
  recorded_ = false;
  context_.registry.Erase(*this);
  context_.files.Drop(volume_);
  Publish();
  if (aside.ok() && !aside->empty()) {
    auto remove = [&state_dir = context_.state_dir, name = *aside] {
      return RemoveSpools(state_dir, name);
    };
    LogFailure("sandbox.spools_left", co_await RunOn(context_.disk, std::move(remove)));
  }
  co_return deleted;
}

Async<RemovedSandbox> Sandbox::RemoveHere(bool remove_volume) {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  RemovedSandbox removed;
  if (forgotten_) co_return removed;
  const RestGuard resting(*this);
  removed.container = row_.container.has_value();
  removed.jobs = jobs_->running();
  CO_RETURN_IF_ERROR(co_await RemoveContainer(RemovedOnPurpose()));
  if (!remove_volume) co_return removed;
  co_await CloseVolume();
  const absl::Status gone = co_await ForgetWithVolume();
  volume_closed_ = forgotten_;
  removed.volume = forgotten_;
  CO_RETURN_IF_ERROR(gone);
  co_return removed;
}

// From then on no file takes its place in it: who was told that one did finds it.
boost::asio::awaitable<void> Sandbox::CloseVolume() {
  volume_closed_ = true;
  while (commits_ > 0) co_await commits_done_.Wait();
}

Async<void> Sandbox::ForgetWithVolume() {
  if (recorded_) {
    const absl::Status removed = co_await context_.runtime.RemoveVolume(volume_);
    LogFailure("sandbox.volume_left", removed);
    if (!removed.ok()) co_return removed;
  }
  co_return co_await ForgetSelf();
}

Async<void> Sandbox::RemoveContainer(Outcome lost) {
  co_await EndJobs(std::move(lost));
  if (!row_.container) co_return absl::OkStatus();
  co_await NotePackages();
  absl::Status removed = co_await RemoveReplaced();
  if (removed.ok()) removed = co_await context_.runtime.Remove(*row_.container);
  if (!removed.ok()) {
    // It may run on: it keeps its place and its name until a removal succeeds.
    LogFailure("sandbox.container_left", removed);
    SetBroken(/*died=*/false);
    co_return removed;
  }
  context_.files.Drop(*row_.container);
  row_.container.reset();
  ran_ = false;
  LogFailure("sandbox.row_stale", co_await context_.store.SetContainer(key_, row_.container));
  ForgetRest();
  ReleaseSlot();
  SetState(SandboxState::kAbsent);
  co_return absl::OkStatus();
}

boost::asio::awaitable<void> Sandbox::EndJobs(Outcome lost) {
  for (const JobSnapshot& job : jobs_->List(static_cast<int>(kMaxInitJobs))) {
    if (job.state == JobState::kEnded || cut_off_.size() >= kMaxCutOffNotes) continue;
    cut_off_.push_back(job.command_head);
  }
  LogFailure("sandbox.detach_failed", co_await jobs_->Detach(std::move(lost)));
  attached_ = false;
  frozen_by_init_ = false;
}

Async<void> Sandbox::AdoptHere(std::optional<ContainerState> found) {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (found == ContainerState::kFrozen) {
    co_await NoteRest(Rest::kFrozen);
    for_room_ = true;
    SetState(SandboxState::kFrozen);
    co_return absl::OkStatus();
  }
  if (found == ContainerState::kStopped) {
    co_await EndJobs(LostToRestart());
    co_await NoteRest(Rest::kStopped);
    SetState(SandboxState::kStopped);
    co_return absl::OkStatus();
  }
  if (found != ContainerState::kRunning) {
    co_await EndJobs(LostToRestart());
    ForgetRest();
    SetState(SandboxState::kAbsent);
    co_return absl::OkStatus();
  }
  context_.capacity.TakeOver();
  has_slot_ = true;
  const bool rested = row_.rest != Rest::kNone;
  const absl::Status attached = co_await AttachRunning();
  if (!attached.ok()) co_return co_await NotAdopted(attached, rested);
  if (rested) co_return co_await AdoptResting();
  SetState(SandboxState::kRunning);
  co_return absl::OkStatus();
}

// How it was found, whether that can be written or not: a full disk costs nobody their container.
boost::asio::awaitable<void> Sandbox::NoteRest(Rest rest) {
  if (row_.rest == rest) co_return;
  LogFailure("sandbox.rest_not_written", co_await RecordRest(rest));
}

// As if it were frozen: the next call takes it over, or finds that it can't be had back. What runs
// on keeps its place, and is looked at again.
Async<void> Sandbox::NotAdopted(absl::Status why, bool rested) {
  LogFailure("sandbox.adopt_failed", why);
  if (PastRepair(why)) {
    SetBroken(/*died=*/!absl::IsDataLoss(why));
    co_return co_await Settle();
  }
  for_room_ = true;
  if (rested) {
    co_await FreezeAgain(/*had_place=*/false);
    co_return absl::OkStatus();
  }
  co_await NoteRest(Rest::kFrozen);
  RetryLater();
  SetState(SandboxState::kFrozen);
  co_return absl::OkStatus();
}

// It was frozen, or was about to be, or had just been woken: only a command that runs tells.
Async<void> Sandbox::AdoptResting() {
  if (jobs_->running() == 0) {
    const absl::Time since = row_.rest_since;
    SetState(SandboxState::kRunning);
    const absl::Status frozen = co_await FreezeLocked(/*for_room=*/true);
    if (frozen.ok()) {
      row_.rest_since = since;
      SetState(SandboxState::kFrozen);
      co_return absl::OkStatus();
    }
    if (state_ != SandboxState::kRunning) co_return frozen;
  }
  LogFailure("sandbox.not_thawed", jobs_->Freeze(false));
  ForgetRest();
  SetState(SandboxState::kRunning);
  co_return absl::OkStatus();
}

void Sandbox::SetState(SandboxState state) {
  // By the monotonic clock: how long it has rested when another agent began it, as far as the wall
  // clock can be believed.
  if (state == SandboxState::kFrozen || state == SandboxState::kStopped) {
    const absl::Duration rested = context_.clock.Now() - row_.rest_since;
    const absl::Duration longest = absl::Hours(24 * 3650);
    state_since_ = context_.clock.Steady() -
                   absl::ToChronoNanoseconds(std::clamp(rested, absl::ZeroDuration(), longest));
  }
  if (state == SandboxState::kRunning || state == SandboxState::kStopped ||
      state == SandboxState::kAbsent) {
    for_room_ = false;
  }
  if (state == SandboxState::kRunning) {
    failures_ = wake_failures_ = 0;
    packages_noted_ = false;
  }
  if (state == SandboxState::kAbsent || state == SandboxState::kStopped) failures_ = 0;
  state_ = state;
  Publish();
}

void Sandbox::LogFailure(std::string_view event, const absl::Status& why) const {
  if (!why.ok()) Log(Severity::kWarning, event, {{"sandbox", key_.text()}, {"why", why}});
}

}  // namespace sandkeep
