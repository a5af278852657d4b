#include "agent/runtime/small_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

absl::Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return ErrnoStatus(errno, folder);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, path);
  std::string text(limit + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > limit) return absl::ResourceExhaustedError(StrCat(path, ": over ", limit, " bytes"));
  text.resize(size);
  return text;
}

absl::Status WriteKernelFile(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return ErrnoStatus(errno, path);
  return WriteAll(fd.get(), text, path);
}

absl::Status ReplaceFile(const std::string& path, std::string_view text, mode_t mode,
                         Durability durability) {
  const bool durable = durability == Durability::kDurable;
  const std::string temporary = StrCat(path, ".new");
  // A left-over of a write that was cut off; O_EXCL then makes sure that it is a file of ours.
  ::unlink(temporary.c_str());
  const UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return ErrnoStatus(errno, temporary);
  // Whatever the umask.
  if (::fchmod(fd.get(), mode) != 0) return ErrnoStatus(errno, temporary);
  RETURN_IF_ERROR(WriteAll(fd.get(), text, temporary));
  if (durable && ::fdatasync(fd.get()) != 0) return ErrnoStatus(errno, temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
  return durable ? SyncFolderOf(path) : absl::OkStatus();
}

}  // namespace sandkeep
