#include "gateway/store/state_dir.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/status_codes.h"
#include "common/strings.h"

namespace sandkeep {

absl::Status PrepareStateDir(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(StrCat("STATE_DIR ", path, " is not a folder"));
  }
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        StrCat("STATE_DIR ", path, " must belong to the user that runs the gateway (uid ",
               ::geteuid(), ") and be writable by nobody else"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> LockStateDir(const std::string& path) {
  const std::string lock = StrCat(path, "/lock");
  UniqueFd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return ErrnoStatus(errno, lock);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        StrCat("another sandkeep-gateway runs on ", path, ": stop it, or change STATE_DIR"));
  }
  return ErrnoStatus(errno, lock);
}

absl::Status BecomeOwnerOf(const std::string& path) {
  struct stat info{};
  if (::geteuid() != 0 || ::stat(path.c_str(), &info) != 0 || info.st_uid == 0) {
    return absl::OkStatus();
  }
  if (::setgroups(0, nullptr) != 0 || ::setresgid(info.st_gid, info.st_gid, info.st_gid) != 0 ||
      ::setresuid(info.st_uid, info.st_uid, info.st_uid) != 0) {
    return ErrnoStatus(errno, StrCat("becoming the owner of ", path));
  }
  return absl::OkStatus();
}

}  // namespace sandkeep
