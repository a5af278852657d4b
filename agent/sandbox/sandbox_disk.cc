// What a sandbox takes of the disk: when it is given back, and what happens when it is too much.

#include <utility>

#include "agent/sandbox/lost.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {

DiskRow DiskRowOf(const SandboxView& view) {
  return {.workspace = view.disk.workspace,
          .layer = view.disk.layer,
          .names = view.disk.names,
          .paused = view.paused};
}

Async<void> Sandbox::RemoveUnused(absl::Time last_used) {
  return OnStrand(RemoveUnusedHere(last_used));
}
Async<void> Sandbox::FilesExpired() { return OnStrand(FilesExpiredHere()); }
Async<void> Sandbox::PauseJobs(std::string reason, std::int64_t charged) {
  return OnStrand(PauseJobsHere(std::move(reason), charged));
}
Async<void> Sandbox::GoOn() { return OnStrand(GoOnHere()); }

Async<void> Sandbox::RemoveUnusedHere(absl::Time last_used) {
  const StrandLock::Guard guard = lock_.TryAcquire();
  const Activity activity = ActivityNow();
  const bool used = !guard || forgotten_ || row_.last_used != last_used || IsBusy(activity) ||
                    activity.holds > 0 || state_ == SandboxState::kRunning ||
                    state_ == SandboxState::kStarting;
  if (used) co_return absl::AbortedError("it is used again");
  const RestGuard resting(*this);
  CO_RETURN_IF_ERROR(co_await RemoveContainer(RemovedOnPurpose()));
  co_await CloseVolume();
  // Somebody came while its container went: the files are theirs.
  if (row_.last_used != last_used || calls_ > 0 || holds_->count() > 0) {
    volume_closed_ = false;
    co_return absl::AbortedError("it is used again");
  }
  const absl::Status gone = co_await ForgetWithVolume();
  volume_closed_ = forgotten_;
  co_return gone;
}

void Sandbox::NoteDiskUse(const DiskUse& use) {
  const std::lock_guard lock(view_mutex_);
  view_.disk = use;
  view_.snapshot.workspace_bytes = use.workspace;
  view_.snapshot.layer_bytes = use.layer;
  ++*changes_;
}

Async<void> Sandbox::PauseJobsHere(std::string reason, std::int64_t charged) {
  if (state_ != SandboxState::kRunning || resting_ > 0) co_return absl::OkStatus();
  const bool begins = pause_reason_.empty();
  if (begins && reason.empty()) co_return absl::OkStatus();
  if (begins) {
    Log(Severity::kInfo, "disk.paused", {{"sandbox", key_.text()}, {"why", reason}});
    pause_reason_ = std::move(reason);
  }
  // Those that were to make room take it instead.
  if (begins || charged >= pause_charged_ + kCleaningRoom) {
    pause_until_ = clock_.Now();
    pause_charged_ = charged;
  }
  jobs_->Pause(pause_reason_, pause_until_);
  Publish();
  co_return absl::OkStatus();
}

Async<void> Sandbox::GoOnHere() {
  if (!pause_reason_.empty()) Log(Severity::kInfo, "disk.goes_on", {{"sandbox", key_.text()}});
  pause_reason_.clear();
  jobs_->GoOn();
  Publish();
  co_return absl::OkStatus();
}

Async<void> Sandbox::FilesExpiredHere() {
  jobs_->RenewStandby();
  co_return absl::OkStatus();
}

}  // namespace sandkeep
