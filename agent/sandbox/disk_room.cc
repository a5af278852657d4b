#include "agent/sandbox/disk_room.h"

#include "agent/sandbox/host.h"
#include "common/status_macros.h"

namespace sandkeep {

absl::StatusOr<DiskRoom::Claim> DiskRoom::Take(std::int64_t size) const {
  const std::lock_guard lock(state_->mutex);
  ASSIGN_OR_RETURN(const std::int64_t free, DiskFreeBytes(folder_));
  if (free - state_->claimed - size < floor_) return Claim();
  state_->claimed += size;
  const auto give_back = [state = state_](const std::int64_t* claimed) {
    const std::unique_ptr<const std::int64_t> owned(claimed);
    const std::lock_guard held(state->mutex);
    state->claimed -= *owned;
  };
  return Claim(new std::int64_t(size), give_back);
}

}  // namespace sandkeep
