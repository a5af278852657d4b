#include "agent/jobs/pipe.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <utility>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Pipes belong to the agent's uid, which the container doesn't know: without these modes
// `echo x > /dev/stderr` inside is refused. Nobody outside the container can reach the pipe.
constexpr mode_t kOutputMode = 0622;
constexpr mode_t kInputMode = 0644;

absl::StatusOr<UniqueFd> Reopen(const UniqueFd& fd, int flags) {
  const std::string path = StrCat("/proc/self/fd/", fd.get());
  UniqueFd opened(::open(path.c_str(), flags | O_CLOEXEC));
  // A write end that nobody reads from any more.
  if (!opened && errno == ENXIO) return UniqueFd();
  if (!opened) return ErrnoStatus(errno, "opening a pipe again");
  return opened;
}

absl::StatusOr<std::pair<UniqueFd, UniqueFd>> MakePipe(mode_t mode) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "making a pipe");
  std::pair<UniqueFd, UniqueFd> made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  if (::fchmod(ends[0], mode) != 0) return ErrnoStatus(errno, "setting a pipe's mode");
  return made;
}

absl::StatusOr<std::uint64_t> InodeOf(const UniqueFd& fd) {
  struct stat file{};
  if (::fstat(fd.get(), &file) != 0) return ErrnoStatus(errno, "fstat of a pipe");
  return file.st_ino;
}

absl::Status CheckIsOurs(const UniqueFd& fd, std::uint64_t inode, int access) {
  struct statfs filesystem{};
  struct stat file{};
  const bool is_pipe = ::fstatfs(fd.get(), &filesystem) == 0 && filesystem.f_type == PIPEFS_MAGIC &&
                       ::fstat(fd.get(), &file) == 0 && S_ISFIFO(file.st_mode);
  if (!is_pipe) return absl::DataLossError("init gave back something else than a pipe");
  if (file.st_ino != inode) return absl::DataLossError("init gave back another pipe");
  if ((::fcntl(fd.get(), F_GETFL) & O_ACCMODE) != access) {
    return absl::DataLossError("init gave back the wrong end of a pipe");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Pipe> MakeOutputPipe() {
  ASSIGN_OR_RETURN(auto ends, MakePipe(kOutputMode));
  Pipe pipe;
  ASSIGN_OR_RETURN(pipe.ours, Reopen(ends.first, O_RDONLY | O_NONBLOCK));
  ASSIGN_OR_RETURN(pipe.inode, InodeOf(ends.first));
  pipe.kept = std::move(ends.first);
  pipe.theirs = std::move(ends.second);
  return pipe;
}

absl::StatusOr<Pipe> MakeInputPipe() {
  ASSIGN_OR_RETURN(auto ends, MakePipe(kInputMode));
  Pipe pipe;
  ASSIGN_OR_RETURN(pipe.ours, Reopen(ends.second, O_WRONLY | O_NONBLOCK));
  ASSIGN_OR_RETURN(pipe.inode, InodeOf(ends.first));
  pipe.kept = std::move(ends.second);
  pipe.theirs = std::move(ends.first);
  return pipe;
}

absl::StatusOr<UniqueFd> TakeBackReader(const UniqueFd& kept, std::uint64_t inode) {
  RETURN_IF_ERROR(CheckIsOurs(kept, inode, O_RDONLY));
  return Reopen(kept, O_RDONLY | O_NONBLOCK);
}

absl::StatusOr<UniqueFd> TakeBackWriter(const UniqueFd& kept, std::uint64_t inode) {
  RETURN_IF_ERROR(CheckIsOurs(kept, inode, O_WRONLY));
  return Reopen(kept, O_WRONLY | O_NONBLOCK);
}

}  // namespace sandkeep
