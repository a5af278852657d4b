#include "common/frame_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxFrameDescriptors);

// Takes every descriptor of a received message, so that none leaks whatever is wrong with it.
std::vector<UniqueFd> TakeDescriptors(msghdr& message) {
  std::vector<UniqueFd> taken;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      taken.emplace_back(fd);
    }
  }
  return taken;
}

}  // namespace

absl::StatusOr<std::pair<FrameSocket, FrameSocket>> FrameSocket::Pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  return std::make_pair(FrameSocket(UniqueFd(ends[0])), FrameSocket(UniqueFd(ends[1])));
}

absl::StatusOr<FrameSocket> FrameSocket::Adopt(UniqueFd socket) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(int);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    return ErrnoStatus(errno, "getsockopt");
  }
  if (domain != AF_UNIX || type != SOCK_SEQPACKET) {
    return absl::InvalidArgumentError("not a Unix socket of whole frames");
  }
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "fcntl");
  }
  return FrameSocket(std::move(socket));
}

absl::Status FrameSocket::Send(std::string_view frame, absl::Span<const int> descriptors) {
  if (frame.empty() || frame.size() > kMaxInitFrameBytes ||
      descriptors.size() > kMaxFrameDescriptors) {
    return absl::InvalidArgumentError(
        StrCat("a frame of ", frame.size(), " bytes and ", descriptors.size(), " descriptors"));
  }
  iovec data{const_cast<char*>(frame.data()), frame.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t bytes = sizeof(int) * descriptors.size();
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(c), descriptors.data(), bytes);
  }
  while (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return absl::ResourceExhaustedError("the channel is full");
    return ErrnoStatus(errno, "sendmsg");
  }
  return absl::OkStatus();
}

absl::StatusOr<Frame> FrameSocket::Receive() {
  Frame frame;
  // Not initialised: of the limit's pages only those that a frame fills are touched, which counts
  // in a process that forks for every command.
  std::array<char, kMaxInitFrameBytes> buffer;
  iovec data{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    if (errno == EAGAIN) return absl::ResourceExhaustedError("nothing there");
    return ErrnoStatus(errno, "recvmsg");
  }
  frame.descriptors = TakeDescriptors(message);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::DataLossError("a frame over the limit");
  }
  if (size == 0) return absl::UnavailableError("the other end is gone");
  frame.bytes.assign(buffer.data(), static_cast<std::size_t>(size));
  return frame;
}

}  // namespace sandkeep
