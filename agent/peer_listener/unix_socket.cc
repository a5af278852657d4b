#include "agent/peer_listener/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/trusted_folder.h"

namespace sandkeep {
namespace {

// Debian's headers don't have it yet.
constexpr int kSoPassRights = 83;

// Above SOMAXCONN the kernel cuts.
constexpr int kBacklog = SOMAXCONN;

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.front() != '/' || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(StrCat("AGENT_SOCKET must be an absolute path of at most ",
                                             sizeof(address.sun_path) - 1, " bytes: ", path));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

const sockaddr* Plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

absl::StatusOr<UniqueFd> MakeSocket(int type) {
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return ErrnoStatus(errno, "socket");
  return fd;
}

// Removes what a dead process left behind, and nothing else.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address, int type) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        StrCat(path, " is there and no socket: remove it, or change AGENT_SOCKET"));
  }
  ASSIGN_OR_RETURN(const UniqueFd probe, MakeSocket(type));
  if (::connect(probe.get(), Plain(address), sizeof(address)) == 0 || errno == EAGAIN) {
    return absl::AlreadyExistsError(
        StrCat("another process listens on ", path, ": stop it, or change AGENT_SOCKET"));
  }
  if (errno != ECONNREFUSED) return ErrnoStatus(errno, path);
  if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

absl::Status SetAccess(const std::string& path, std::optional<gid_t> group) {
  if (group.has_value() && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return ErrnoStatus(errno, StrCat("can't give ", path, " to group ", *group));
  }
  if (::chmod(path.c_str(), 0660) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> BindUnixSocket(const std::string& path, int type,
                                        std::optional<gid_t> group) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  RETURN_IF_ERROR(
      CheckTrustedFolder(path.substr(0, path.find_last_of('/') + 1), FolderOwner::kSelf));
  RETURN_IF_ERROR(RemoveStale(path, address, type));
  ASSIGN_OR_RETURN(UniqueFd fd, MakeSocket(type));
  RefuseDescriptors(fd.get());
  // The file that bind makes takes its mode from here.
  if (::fchmod(fd.get(), 0600) != 0) return ErrnoStatus(errno, "fchmod");
  if (::bind(fd.get(), Plain(address), sizeof(address)) != 0) return ErrnoStatus(errno, path);
  RETURN_IF_ERROR(SetAccess(path, group));
  if (::listen(fd.get(), kBacklog) != 0) return ErrnoStatus(errno, path);
  return fd;
}

void RefuseDescriptors(int socket) {
  const int off = 0;
  // Older kernels don't know it, and there is nothing else to do there.
  ::setsockopt(socket, SOL_SOCKET, kSoPassRights, &off, sizeof(off));
}

}  // namespace sandkeep
