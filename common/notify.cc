#include "common/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "common/settings.h"
#include "common/status_codes.h"
#include "common/unique_fd.h"

namespace sandkeep {

absl::Status Notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return absl::OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length < 2 || length >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError("NOTIFY_SOCKET is not a path");
  }
  std::memcpy(address.sun_path, path, length);
  // '@' stands for the abstract name space, where the address begins with NUL.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return ErrnoStatus(errno, "notify socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<sockaddr*>(&address), size) < 0) {
    return ErrnoStatus(errno, "notify");
  }
  return absl::OkStatus();
}

std::optional<std::chrono::microseconds> WatchdogInterval() {
  const char* text = std::getenv("WATCHDOG_USEC");
  if (text == nullptr) return std::nullopt;
  const absl::StatusOr<std::int64_t> usec = ParseNumber(text);
  if (!usec.ok() || *usec <= 0) return std::nullopt;
  return std::chrono::microseconds(*usec / 2);
}

}  // namespace sandkeep
