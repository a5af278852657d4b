#include "agent/runtime/project.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

absl::StatusOr<UniqueFd> OpenFolder(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, folder);
  return fd;
}

absl::Status NoProjects(const std::string& folder) {
  if (errno == ENOTTY || errno == EOPNOTSUPP) {
    return absl::UnimplementedError(
        StrCat("the file system of ", folder, " has no project quotas"));
  }
  return ErrnoStatus(errno, folder);
}

absl::StatusOr<fsxattr> AttributesOf(const UniqueFd& fd, const std::string& folder) {
  fsxattr attributes{};
  if (::ioctl(fd.get(), FS_IOC_FSGETXATTR, &attributes) != 0) return NoProjects(folder);
  return attributes;
}

}  // namespace

absl::StatusOr<std::uint32_t> ProjectOf(const std::string& folder) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFolder(folder));
  ASSIGN_OR_RETURN(const fsxattr attributes, AttributesOf(fd, folder));
  return attributes.fsx_projid;
}

absl::Status SetProject(const std::string& folder, std::uint32_t project) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFolder(folder));
  ASSIGN_OR_RETURN(fsxattr attributes, AttributesOf(fd, folder));
  attributes.fsx_projid = project;
  if (project != 0) {
    attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  } else {
    attributes.fsx_xflags &= ~static_cast<std::uint32_t>(FS_XFLAG_PROJINHERIT);
  }
  if (::ioctl(fd.get(), FS_IOC_FSSETXATTR, &attributes) != 0) return NoProjects(folder);
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> RoomOf(const std::string& folder) {
  struct statvfs fs{};
  if (::statvfs(folder.c_str(), &fs) != 0) return ErrnoStatus(errno, folder);
  return static_cast<std::int64_t>(fs.f_blocks * fs.f_frsize);
}

}  // namespace sandkeep
