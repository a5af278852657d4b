// What a sandbox takes of the disk: when it is given back, and what happens when it is too much.

#include <utility>

#include "agent/sandbox/lost.h"
#include "agent/sandbox/sandbox.h"
#include "common/status_macros.h"

namespace sandkeep {

Async<void> Sandbox::RemoveUnused(absl::Time last_used) {
  return OnStrand(RemoveUnusedHere(last_used));
}
Async<void> Sandbox::FilesExpired() { return OnStrand(FilesExpiredHere()); }

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
  const absl::Status gone = co_await ForgetWithVolume();
  volume_closed_ = forgotten_;
  co_return gone;
}

Async<void> Sandbox::FilesExpiredHere() {
  jobs_->RenewStandby();
  co_return absl::OkStatus();
}

}  // namespace sandkeep
