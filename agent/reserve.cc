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

absl::StatusOr<Reserve> Reserve::Open(const std::string& state_dir, std::int64_t floor) {
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
  // As on a RAM disk without a limit, whose size is 0.
  if (whole <= 0) return absl::UnimplementedError("this file system has no room to set aside");
  // Of an earlier agent's, perhaps on a larger disk. What a backup brought back has holes instead.
  const bool holds = before.st_blocks * 512 >= before.st_size;
  const std::int64_t held = holds ? std::min<std::int64_t>(before.st_size, whole) : 0;
  if (::ftruncate(file.get(), held) != 0) return ErrnoStatus(errno, path);
  Reserve reserve(std::move(file), whole, held);
  reserve.floor_ = floor;
  RETURN_IF_ERROR(reserve.Look());
  return reserve;
}

absl::Status Reserve::Look() {
  ASSIGN_OR_RETURN(const DiskRoom room, RoomOf(file_));
  const std::int64_t slice = whole_ / kReserveSlices;
  if (room.free < slice) return SetFree(std::min(slice, held_));
  const std::int64_t spare = room.free - std::max(kReserveMargin * slice, floor_);
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
  // What it has got of it would be neither held nor free.
  if (::ftruncate(file_.get(), held_) != 0) return ErrnoStatus(errno, "the reserve");
  // Somebody was quicker.
  if (error == ENOSPC || error == EINTR) return absl::OkStatus();
  if (error == EOPNOTSUPP) {
    return absl::UnimplementedError("this file system can't set room aside");
  }
  return ErrnoStatus(error, "the reserve");
}

ReserveKeeper::ReserveKeeper(const std::string& state_dir, std::int64_t floor) {
  absl::StatusOr<Reserve> reserve = Reserve::Open(state_dir, floor);
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
  bool complained = false;
  for (;;) {
    co_await Pause(kReserveInterval);
    const std::int64_t before = reserve.held();
    const absl::Status looked = reserve.Look();
    if (!looked.ok()) {
      // What is held would be lost to everybody if nobody looked any more.
      if (!std::exchange(complained, true)) {
        Log(Severity::kWarning, "reserve.stuck", {{"why", looked}});
      }
      continue;
    }
    complained = false;
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
