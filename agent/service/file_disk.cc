#include "agent/service/file_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

#include "common/limits.h"
#include "common/pending.h"
#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

absl::StatusOr<std::string> ReadRange(int fd, std::int64_t offset, std::size_t size) {
  std::string data(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, data.data() + done, size - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read");
    if (got == 0) return absl::DataLossError("the file shrank while it was read");
    done += static_cast<std::size_t>(got);
  }
  return data;
}

absl::Status WriteRange(int fd, std::int64_t offset, std::string_view data) {
  while (!data.empty()) {
    const ssize_t put = ::pwrite(fd, data.data(), data.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(errno, "write");
    offset += put;
    data.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status ReserveRange(int fd, std::int64_t size) {
  if (size == 0) return absl::OkStatus();
  while (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) != 0) {
    if (errno == EINTR) continue;
    // Not every file system can; then the write says it.
    if (errno == EOPNOTSUPP) return absl::OkStatus();
    return ErrnoStatus(errno, "reserve");
  }
  return absl::OkStatus();
}

// Where the file system can share the blocks, nothing is copied.
absl::Status CopyRange(int from, int to, std::int64_t offset, std::int64_t size) {
  loff_t in = offset;
  loff_t out = offset;
  while (size > 0) {
    const ssize_t copied =
        ::copy_file_range(from, &in, to, &out, static_cast<std::size_t>(size), 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return ErrnoStatus(errno, "copy");
    if (copied == 0) return absl::DataLossError("the file shrank while it was copied");
    size -= copied;
  }
  return absl::OkStatus();
}

absl::Status FlushFile(int fd) {
  return ::fsync(fd) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "fsync");
}

}  // namespace

FileDisk::FileDisk() : threads_(kFileReadThreads), flushing_(kFileFlushThreads) {}

FileDisk::~FileDisk() {
  threads_.join();
  flushing_.join();
}

Async<std::string> FileDisk::Read(File file, std::int64_t offset, std::size_t size) {
  const auto done = std::make_shared<Pending<absl::StatusOr<std::string>>>();
  auto read = [done, file = std::move(file), offset, size] {
    done->Deliver(ReadRange(file->get(), offset, size));
  };
  boost::asio::post(threads_, std::move(read));
  auto waiting = done->Take(absl::CancelledError("cancelled"));
  co_return co_await std::move(waiting);
}

Async<void> FileDisk::Do(boost::asio::thread_pool& threads, std::function<absl::Status()> work) {
  const auto done = std::make_shared<Pending<absl::Status>>();
  boost::asio::post(threads, [done, work = std::move(work)] { done->Deliver(work()); });
  auto waiting = done->Take(absl::CancelledError("cancelled"));
  co_return co_await std::move(waiting);
}

Async<void> FileDisk::Reserve(File file, std::int64_t size) {
  return Do(threads_, [file = std::move(file), size] { return ReserveRange(file->get(), size); });
}

Async<void> FileDisk::Write(File file, std::int64_t offset, std::string data) {
  return Do(threads_, [file = std::move(file), offset, data = std::move(data)] {
    return WriteRange(file->get(), offset, data);
  });
}

Async<void> FileDisk::Copy(File from, File to, std::int64_t size) {
  for (std::int64_t at = 0; at < size; at += kCopyTurnBytes) {
    const std::int64_t turn = std::min(kCopyTurnBytes, size - at);
    std::function<absl::Status()> copy = [from, to, at, turn] {
      return CopyRange(from->get(), to->get(), at, turn);
    };
    auto copying = Do(threads_, std::move(copy));
    CO_RETURN_IF_ERROR(co_await std::move(copying));
  }
  co_return absl::OkStatus();
}

Async<void> FileDisk::Flush(File file) {
  return Do(flushing_, [file = std::move(file)] { return FlushFile(file->get()); });
}

}  // namespace sandkeep
