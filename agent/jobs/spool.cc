#include "agent/jobs/spool.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

// Holes are whole blocks.
constexpr std::int64_t kBlock = 4096;
constexpr std::int64_t kHeadShare = 4;

// What a pipe has, without taking it.
Spool::After Look(const UniqueFd& pipe) {
  pollfd state{pipe.get(), POLLIN, 0};
  if (::poll(&state, 1, 0) <= 0) return Spool::After::kEmpty;
  if ((state.revents & POLLIN) != 0) return Spool::After::kMore;
  return Spool::After::kEnd;
}

}  // namespace

SpoolWindow::SpoolWindow(std::int64_t limit)
    : head_(std::min(kSpoolHeadBytes, limit / kHeadShare) / kBlock * kBlock),
      tail_(limit - head_) {}

ByteRange SpoolWindow::Dropped(std::int64_t size) const {
  const std::int64_t to = (size - tail_) / kSpoolDropStep * kSpoolDropStep;
  if (to <= head_) return {};
  return {head_, to};
}

absl::Status Spool::Open(int flags) {
  if (file_) return absl::OkStatus();
  file_.Reset(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!file_) return ErrnoStatus(errno, "opening a spool");
  struct stat file{};
  if (::fstat(file_.get(), &file) != 0) return ErrnoStatus(errno, "fstat of a spool");
  size_ = file.st_size;
  Drop(size_);
  return absl::OkStatus();
}

absl::Status Spool::Resume() {
  absl::Status opened = Open(0);
  return absl::IsNotFound(opened) ? absl::OkStatus() : opened;
}

absl::Status Spool::Take(const UniqueFd& pipe, std::int64_t limit, Taken* taken) {
  if (!file_) {
    taken->after = Look(pipe);
    if (taken->after != After::kMore) return absl::OkStatus();
    RETURN_IF_ERROR(Open(O_CREAT));
  }
  // Of what readers know: this turn's bytes they hear of after it.
  Drop(size_);
  while (taken->bytes < limit) {
    loff_t at = size_;
    const ssize_t moved =
        ::splice(pipe.get(), nullptr, file_.get(), &at,
                 static_cast<std::size_t>(limit - taken->bytes), SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (moved == 0) {
      taken->after = After::kEnd;
      return absl::OkStatus();
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && errno == EAGAIN) {
      taken->after = After::kEmpty;
      return absl::OkStatus();
    }
    if (moved < 0) return ErrnoStatus(errno, "splicing into a spool");
    size_ += moved;
    taken->bytes += moved;
    if (moved < static_cast<ssize_t>(kSpliceCoalesceBelow)) {
      taken->after = After::kFew;
      return absl::OkStatus();
    }
  }
  taken->after = After::kMore;
  return absl::OkStatus();
}

// Lazily, a step at a time. A hole that can't be made costs disk, never truth: readers go by the
// range.
void Spool::Drop(std::int64_t size) {
  const ByteRange dropped = window_.Dropped(size);
  const std::int64_t from = std::max(dropped.from, dropped_to_);
  if (from >= dropped.to) return;
  if (::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
                  dropped.to - from) != 0) {
    Log(Severity::kError, "spool.not_dropped",
        {{"from", from}, {"to", dropped.to}, {"why", ErrnoStatus(errno, "fallocate")}});
  }
  dropped_to_ = dropped.to;
}

void Spool::Narrow(SpoolWindow window, std::int64_t known) {
  window_ = window;
  dropped_to_ = 0;
  if (file_) return Drop(std::min(size_, known));
  // Its stream has ended. Opening drops.
  if (Open(0).ok()) Close();
}

absl::StatusOr<std::optional<std::string>> SpoolReader::ReadNow(std::int64_t offset,
                                                                std::int64_t limit) {
  if (!file_) {
    file_.Reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file_) return ErrnoStatus(errno, "opening a spool");
  }
  std::string data(static_cast<std::size_t>(limit), '\0');
  iovec into{data.data(), data.size()};
  const ssize_t size = ::preadv2(file_.get(), &into, 1, offset, RWF_NOWAIT);
  if (size == limit) return data;
  // A part of it isn't in memory, or the file system knows no such reads.
  if (size >= 0 || errno == EAGAIN || errno == EOPNOTSUPP || errno == EINTR) return std::nullopt;
  return ErrnoStatus(errno, "reading a spool");
}

absl::StatusOr<std::string> SpoolReader::ReadBlocking(std::int64_t offset,
                                                      std::int64_t limit) const {
  std::string data(static_cast<std::size_t>(limit), '\0');
  std::size_t have = 0;
  while (have < data.size()) {
    const ssize_t size = ::pread(file_.get(), data.data() + have, data.size() - have,
                                 offset + static_cast<std::int64_t>(have));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoStatus(errno, "reading a spool");
    if (size == 0) break;
    have += static_cast<std::size_t>(size);
  }
  data.resize(have);
  return data;
}

std::optional<std::string> ReadIfCached(const std::string& path, std::int64_t offset,
                                        std::int64_t bytes) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_CACHED;
  const UniqueFd file(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (!file) return std::nullopt;
  std::string data(static_cast<std::size_t>(bytes), '\0');
  iovec into{data.data(), data.size()};
  if (::preadv2(file.get(), &into, 1, offset, RWF_NOWAIT) != bytes) return std::nullopt;
  return data;
}

std::int64_t SpoolSize(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 ? file.st_size : 0;
}

}  // namespace sandkeep
