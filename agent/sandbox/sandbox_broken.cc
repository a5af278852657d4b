// What becomes of a sandbox whose container can't be used as it is, or can't be told of.
//
// Something of it may run, so it keeps its place until the engine has said what is there. What is
// installed in it is given up only then, or if what ran in it had broken its init.

#include <algorithm>
#include <utility>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/lost.h"
#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {

Async<bool> Sandbox::SettleBroken() { return OnStrand(SettleBrokenHere()); }

void Sandbox::OnInitBroken(absl::Status why) {
  init_broken_ = true;
  attached_ = false;
  frozen_by_init_ = false;
  if (state_ != SandboxState::kRunning && state_ != SandboxState::kFrozen) return;
  LogFailure("sandbox.broken", why);
  SetBroken(/*died=*/absl::IsUnavailable(why));
  Spawn(strand_, "sandbox.retire", Shield(shared_from_this(), Retire()));
}

// `died`: what is installed in it may be used again.
void Sandbox::SetBroken(bool died) {
  init_died_ = died;
  RetryLater();
  SetState(SandboxState::kBroken);
}

void Sandbox::RetryLater() {
  const int doublings = std::min(failures_++, kMaxRetryDoublings);
  retry_due_ = context_.clock.Steady() + kSettleRetry * (1 << doublings);
}

boost::asio::awaitable<void> Sandbox::Retire() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  // A call may have come first and rebuilt it. What fails is logged there, and tried again.
  if (state_ == SandboxState::kBroken) (co_await SettleAlone()).IgnoreError();
}

Async<bool> Sandbox::SettleBrokenHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  if (!guard || state_ != SandboxState::kBroken) co_return false;
  const absl::Status settled = co_await SettleAlone();
  co_return settled.ok();
}

// While nobody is about to start it again.
Async<void> Sandbox::SettleAlone() {
  CO_RETURN_IF_ERROR(co_await Settle());
  const bool unused = row_.last_used == absl::InfinitePast();
  if (state_ == SandboxState::kAbsent && unused) co_return co_await UndoCreate();
  co_return absl::OkStatus();
}

Async<void> Sandbox::Settle() {
  const absl::Status replaced = co_await RemoveReplaced();
  if (!replaced.ok()) {
    SetBroken(init_died_);
    co_return replaced;
  }
  if (!row_.container) {
    ReleaseSlot();
    SetState(SandboxState::kAbsent);
    co_return absl::OkStatus();
  }
  // Of a container whose init died, what was installed is still there; one whose init lied goes.
  Async<void> settling = init_died_ ? KeepStopped() : RemoveContainer(BrokenSandbox());
  co_return co_await std::move(settling);
}

Async<void> Sandbox::KeepStopped() {
  co_await EndJobs(LostContainer());
  const absl::Status stopped = co_await context_.runtime.Stop(*row_.container);
  LogFailure("sandbox.not_stopped", stopped);
  const absl::StatusOr<ContainerState> found = co_await LookForContainer();
  if (found.ok() && *found == ContainerState::kStopped) {
    co_await NoteRest(Rest::kStopped);
    ReleaseSlot();
    SetState(SandboxState::kStopped);
    co_return absl::OkStatus();
  }
  const bool runs = found.ok() && *found != ContainerState::kUnknown;
  const bool may_stop = runs && failures_ < kSettleTries;
  // An engine that doesn't answer says nothing of what is there.
  const bool unknown = !found.ok() && !absl::IsNotFound(found.status());
  if (!may_stop && !unknown) co_return co_await RemoveContainer(LostContainer());
  SetBroken(/*died=*/true);
  if (unknown) co_return found.status();
  co_return absl::UnavailableError("the container doesn't stop: try again");
}

// NotFound: somebody has removed it.
Async<ContainerState> Sandbox::LookForContainer() {
  CO_ASSIGN_OR_RETURN(const EngineObjects objects, co_await context_.runtime.ListOurs());
  for (const ContainerRecord& container : objects.containers) {
    if (container.name == row_.container) co_return container.state;
  }
  co_return absl::NotFoundError("no such container");
}

// It may have come up, if only half: it gives its place back when it is known to rest again.
boost::asio::awaitable<void> Sandbox::NotWoken(SandboxState from, absl::Status why,
                                               bool had_place) {
  LogFailure("sandbox.not_woken", why);
  if (PastRepair(why)) {
    // Processes that can't be had back end; packages need not go with them.
    SetBroken(/*died=*/from == SandboxState::kFrozen && !absl::IsDataLoss(why));
    co_return;
  }
  if (from == SandboxState::kFrozen) co_return co_await FreezeAgain(had_place);
  SetBroken(/*died=*/true);
  Spawn(strand_, "sandbox.retire", Shield(shared_from_this(), Retire()));
}

boost::asio::awaitable<void> Sandbox::FreezeAgain(bool had_place) {
  const absl::Status frozen = co_await context_.runtime.Freeze(*row_.container);
  // Where init does it, what was frozen is told last of all to go on.
  if (frozen.ok() || (absl::IsUnimplemented(frozen) && !had_place)) {
    ReleaseSlot();
  } else {
    LogFailure("sandbox.not_frozen", frozen);
    RetryLater();
  }
  SetState(SandboxState::kFrozen);
}

// Others may start where this one's container doesn't: the new one is tried before the old one
// goes, and what is installed with it.
Async<Arrival> Sandbox::Replace() {
  CO_RETURN_IF_ERROR(co_await Settle());
  if (state_ != SandboxState::kStopped) co_return co_await Create();
  const std::optional<EngineName> old = std::exchange(row_.container, std::nullopt);
  SetState(SandboxState::kStarting);
  const absl::Status created = co_await TryCreate();
  if (created.ok()) {
    replaced_ = old;
    (co_await RemoveReplaced()).IgnoreError();
    ForgetRest();
    co_return Arrival::kRebuilt;
  }
  LogFailure("sandbox.start_failed", created);
  co_await EndJobs(LostContainer());
  replaced_ = std::exchange(row_.container, old);
  LogFailure("sandbox.row_stale", co_await context_.store.SetContainer(key_, row_.container));
  SetBroken(/*died=*/true);
  (co_await Settle()).IgnoreError();
  co_return created;
}

// The other container of its volume, which no row names.
Async<void> Sandbox::RemoveReplaced() {
  if (!replaced_) co_return absl::OkStatus();
  const absl::Status removed = co_await context_.runtime.Remove(*replaced_);
  LogFailure("sandbox.container_left", removed);
  if (removed.ok()) replaced_.reset();
  co_return removed;
}

}  // namespace sandkeep
