#include "agent/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/async.h"
#include "common/log.h"
#include "common/pause.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

struct DiskRoom {
  std::int64_t all = 0;
  std::int64_t free = 0;  // For this user.
};

absl::StatusOr<DiskRoom> RoomOf(const UniqueFd& file) {
  struct statvfs info{};
  if (::fstatvfs(file.get(), &info) != 0) return ErrnoStatus(errno, "fstatvfs of the reserve");
  const auto block = static_cast<std::int64_t>(info.f_frsize);
  return DiskRoom{.all = static_cast<std::int64_t>(info.f_blocks) * block,
                  .free = static_cast<std::int64_t>(info.f_bavail) * block};
}

}  // namespace

absl::StatusOr<Reserve> Reserve::Open(const std::string& state_dir) {
  const std::string path = StrCat(state_dir, "/reserve");
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, path);
  struct stat before{};
  if (::fstat(file.get(), &before) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(before.st_mode)) return absl::FailedPreconditionError(StrCat(path, " is no file"));
  ASSIGN_OR_RETURN(const DiskRoom room, RoomOf(file));
  // Whole slices are whole blocks.
  constexpr std::int64_t kStep = kReserveSlices * 4096;
  const std::int64_t whole = std::min(kReserveBytes, room.all / kReserveShare) / kStep * kStep;
  Reserve reserve(std::move(file), whole, std::min<std::int64_t>(before.st_size, whole));
  // What an earlier agent held, or a larger disk had.
  RETURN_IF_ERROR(reserve.SetFree(before.st_size - reserve.held_));
  RETURN_IF_ERROR(reserve.Look());
  return reserve;
}

absl::Status Reserve::Look() {
  ASSIGN_OR_RETURN(const DiskRoom room, RoomOf(file_));
  const std::int64_t slice = whole_ / kReserveSlices;
  if (room.free < slice) return SetFree(std::min(slice, held_));
  const std::int64_t spare = room.free - kReserveMargin * slice;
  return Hold(std::min(spare, whole_ - held_) / slice * slice);
}

absl::Status Reserve::SetFree(std::int64_t bytes) {
  if (bytes <= 0) return absl::OkStatus();
  held_ -= std::min(bytes, held_);
  if (::ftruncate(file_.get(), held_) != 0) return ErrnoStatus(errno, "setting the reserve free");
  return absl::OkStatus();
}

absl::Status Reserve::Hold(std::int64_t bytes) {
  if (bytes <= 0) return absl::OkStatus();
  if (::fallocate(file_.get(), 0, held_, bytes) == 0) {
    held_ += bytes;
    return absl::OkStatus();
  }
  const int error = errno;
  // Somebody was quicker. What it has got of it would be neither held nor free.
  if (error == ENOSPC || error == EINTR) {
    return ::ftruncate(file_.get(), held_) == 0 ? absl::OkStatus()
                                                : ErrnoStatus(errno, "the reserve");
  }
  if (error == EOPNOTSUPP) {
    return absl::UnimplementedError("this file system can't set room aside");
  }
  return ErrnoStatus(error, "the reserve");
}

ReserveKeeper::ReserveKeeper(const std::string& state_dir) {
  absl::StatusOr<Reserve> reserve = Reserve::Open(state_dir);
  if (reserve.ok()) {
    Spawn(thread_.get_executor(), "reserve", Keep(*std::move(reserve)));
  } else {
    Log(Severity::kWarning, "reserve.none", {{"why", reserve.status()}});
  }
}

ReserveKeeper::~ReserveKeeper() {
  thread_.stop();
  thread_.join();
}

boost::asio::awaitable<void> ReserveKeeper::Keep(Reserve reserve) {
  for (;;) {
    co_await Pause(kReserveInterval);
    const std::int64_t before = reserve.held();
    const absl::Status looked = reserve.Look();
    if (!looked.ok()) {
      Log(Severity::kWarning, "reserve.ended", {{"why", looked}});
      co_return;
    }
    const std::int64_t held = reserve.held();
    if (held < before) {
      Log(Severity::kWarning, "reserve.used",
          {{"why", "the disk of the agent's state is full"}, {"left_mib", held / kMiB}});
    } else if (held > before) {
      Log(Severity::kInfo, "reserve.held", {{"mib", held / kMiB}});
    }
  }
}

}  // namespace sandkeep
