#include "agent/file_process/measurement.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "agent/file_process/beneath.h"
#include "common/limits.h"

namespace sandkeep {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
// stat's unit, whatever the file system's is.
constexpr std::int64_t kBlockBytes = 512;

// A sandbox may set a time of writing to anything that its file system can hold.
std::int64_t Nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMost = 9'000'000'000;
  return std::clamp(seconds, -kMost, kMost) * kSecond + nanoseconds;
}

std::int64_t Nanoseconds(const statx_timestamp& time) {
  return Nanoseconds(time.tv_sec, time.tv_nsec);
}

std::int64_t NowNanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now.tv_sec, now.tv_nsec);
}

int Stat(int above, const char* name, int flags, struct statx& info) {
  constexpr int kNoSideEffect = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  return ::statx(above, name, flags | kNoSideEffect, STATX_BASIC_STATS, &info) == 0 ? 0 : errno;
}

}  // namespace

int Measurement::Begin(int folder, const std::string& path) {
  began_ns_ = NowNanoseconds();
  if (!path.empty()) {
    const Place place = PlaceBeneath(folder, path, /*make_parents=*/false);
    return place.error != 0 ? place.error : Visit(place.folder.get(), place.name.c_str());
  }
  struct statx info{};
  if (const int error = Stat(folder, "", AT_EMPTY_PATH, info); error != 0) return error;
  Count(info);
  Enter(folder, "");
  return 0;
}

bool Measurement::GoOn(std::chrono::steady_clock::time_point until) {
  while (!levels_.empty()) {
    Step();
    if (std::chrono::steady_clock::now() >= until) break;
  }
  return levels_.empty();
}

int Measurement::Visit(int above, const char* name) {
  struct statx info{};
  if (const int error = Stat(above, name, 0, info); error != 0) {
    // Gone since its name was read: the folder above changed by that, and is looked at again.
    if (error != ENOENT) ++measures_.unread;
    return error;
  }
  if ((info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    measures_.other_mount = true;
    return 0;
  }
  Count(info);
  if (S_ISDIR(info.stx_mode)) Enter(above, name);
  return 0;
}

void Measurement::Count(const struct statx& info) {
  const bool shared = !S_ISDIR(info.stx_mode) && info.stx_nlink > 1;
  const std::int64_t bytes = static_cast<std::int64_t>(info.stx_blocks) * kBlockBytes;
  measures_.bytes += shared ? bytes / info.stx_nlink : bytes;
  ++measures_.inodes;
  const std::int64_t written = Nanoseconds(info.stx_mtime);
  const std::int64_t changed = Nanoseconds(info.stx_ctime);
  measures_.newest_ns = std::max(measures_.newest_ns, changed);
  if (written <= began_ns_) measures_.newest_ns = std::max(measures_.newest_ns, written);
}

void Measurement::Enter(int above, const std::string& name) {
  if (levels_.size() >= kMaxMeasuredLevels) {
    ++measures_.unread;
    return;
  }
  Located located = OpenBeneathAs(above, name, kFolder, 0);
  if (located.error == ENOENT) return;
  if (located.error == EXDEV) {
    measures_.other_mount = true;
    return;
  }
  Folder entries(located.error == 0 ? ::fdopendir(located.fd.get()) : nullptr);
  if (entries == nullptr) {
    ++measures_.unread;
    return;
  }
  (void)located.fd.Release();
  levels_.push_back(
      {.entries = std::move(entries), .device = located.info.st_dev, .inode = located.info.st_ino});
  if (levels_.size() - closed_ > kMaxOpenLevels) CloseOutermost();
}

void Measurement::CloseOutermost() {
  Level& level = levels_[closed_++];
  level.position = ::telldir(level.entries.get());
  level.entries.reset();
}

void Measurement::Step() {
  const Level& level = levels_.back();
  errno = 0;
  const dirent* const entry = ::readdir(level.entries.get());
  if (entry == nullptr) {
    if (errno != 0) ++measures_.unread;
    return Leave();
  }
  const std::string_view name = entry->d_name;
  if (name != "." && name != "..") (void)Visit(::dirfd(level.entries.get()), entry->d_name);
}

void Measurement::Leave() {
  const Level left = std::move(levels_.back());
  levels_.pop_back();
  const int below = ::dirfd(left.entries.get());
  // What came or went while it was read shows in its own time.
  CountNewest(below);
  if (levels_.size() > closed_ || levels_.empty()) return;
  if (Reopen(levels_.back(), below)) {
    --closed_;
    return;
  }
  // The way back is lost, and with it the rest.
  ++measures_.unread;
  levels_.clear();
}

void Measurement::CountNewest(int folder) {
  struct statx info{};
  if (Stat(folder, "", AT_EMPTY_PATH, info) != 0) {
    ++measures_.unread;
    return;
  }
  measures_.newest_ns = std::max(measures_.newest_ns, Nanoseconds(info.stx_ctime));
}

bool Measurement::Reopen(Level& level, int below) {
  Located above = OpenAbove(below);
  if (above.error != 0) return false;
  if (above.info.st_dev != level.device || above.info.st_ino != level.inode) return false;
  level.entries.reset(::fdopendir(above.fd.get()));
  if (level.entries == nullptr) return false;
  (void)above.fd.Release();
  ::seekdir(level.entries.get(), level.position);
  return true;
}

}  // namespace sandkeep
