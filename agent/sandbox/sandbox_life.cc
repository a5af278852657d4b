// How a sandbox's container goes away, and is found again at the agent's start.

#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/lost.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"

namespace sandkeep {

Async<void> Sandbox::Adopt(std::optional<ContainerState> found) {
  return OnStrand(AdoptHere(found));
}
Async<bool> Sandbox::MakeRoom() { return OnStrand(MakeRoomHere()); }
Async<RemovedSandbox> Sandbox::Remove(bool remove_volume) {
  return OnStrand(RemoveHere(remove_volume));
}

Async<void> Sandbox::ForgetSelf() {
  forgotten_ = true;
  context_.registry.Erase(*this);
  context_.files.Drop(volume_);
  absl::Status deleted;
  if (recorded_) deleted = co_await context_.store.DeleteSandbox(key_);
  LogFailure("sandbox.row_left", deleted);
  recorded_ = false;
  Publish();
  auto remove_spools = [folder = SpoolFolder(context_.state_dir, key_)]() {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    return error ? absl::InternalError(error.message()) : absl::OkStatus();
  };
  LogFailure("sandbox.spools_left", co_await RunOn(context_.disk, std::move(remove_spools)));
  co_return deleted;
}

Async<RemovedSandbox> Sandbox::RemoveHere(bool remove_volume) {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  RemovedSandbox removed;
  if (forgotten_) co_return removed;
  removed.container = row_.container.has_value();
  CO_RETURN_IF_ERROR(co_await RemoveContainer(RemovedOnPurpose()));
  if (!remove_volume) co_return removed;
  CO_RETURN_IF_ERROR(co_await context_.runtime.RemoveVolume(volume_));
  removed.volume = true;
  CO_RETURN_IF_ERROR(co_await ForgetSelf());
  co_return removed;
}

Async<void> Sandbox::RemoveContainer(Outcome lost) {
  co_await EndJobs(std::move(lost));
  if (!row_.container) co_return absl::OkStatus();
  const absl::Status removed = co_await context_.runtime.Remove(*row_.container);
  if (!removed.ok()) {
    // It may run on: it keeps its place and its name until a removal succeeds.
    LogFailure("sandbox.container_left", removed);
    SetState(SandboxState::kBroken);
    co_return removed;
  }
  row_.container.reset();
  LogFailure("sandbox.row_stale", co_await context_.store.SetContainer(key_, row_.container));
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
}

Async<void> Sandbox::AdoptHere(std::optional<ContainerState> found) {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (found == ContainerState::kFrozen) {
    SetState(SandboxState::kFrozen);
    co_return absl::OkStatus();
  }
  if (found != ContainerState::kRunning) {
    co_await EndJobs(LostToRestart());
    SetState(found == ContainerState::kStopped ? SandboxState::kStopped : SandboxState::kAbsent);
    co_return absl::OkStatus();
  }
  context_.capacity.TakeOver();
  has_slot_ = true;
  const absl::Status attached = co_await AttachRunning();
  LogFailure("sandbox.adopt_failed", attached);
  if (!attached.ok()) co_return co_await RemoveContainer(LostContainer());
  SetState(SandboxState::kRunning);
  co_return absl::OkStatus();
}

Async<bool> Sandbox::MakeRoomHere() {
  const StrandLock::Guard guard = lock_.TryAcquire();
  if (!guard || Busy() || state_ != SandboxState::kRunning) co_return false;
  Log(Severity::kInfo, "sandbox.removed_for_room", {{"sandbox", key_.text()}});
  const absl::Status removed = co_await RemoveContainer(RemovedOnPurpose());
  co_return removed.ok();
}

void Sandbox::OnInitBroken(absl::Status why) {
  init_broken_ = true;
  if (state_ != SandboxState::kRunning) return;
  LogFailure("sandbox.broken", why);
  SetState(SandboxState::kBroken);
  Spawn(strand_, "sandbox.retire", Shield(shared_from_this(), Retire()));
}

boost::asio::awaitable<void> Sandbox::Retire() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  // A call may have come first and rebuilt it.
  if (state_ != SandboxState::kBroken) co_return;
  // Logged where it fails; the next start begins with it.
  (co_await RemoveContainer(LostContainer())).IgnoreError();
}

void Sandbox::SetState(SandboxState state) {
  state_ = state;
  Publish();
}

void Sandbox::LogFailure(std::string_view event, const absl::Status& why) const {
  if (!why.ok()) Log(Severity::kWarning, event, {{"sandbox", key_.text()}, {"why", why}});
}

}  // namespace sandkeep
