// A hostile peer must not make a receiver leak a descriptor, block or read half a frame.

#include "common/frame_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/limits.h"

namespace sandkeep {
namespace {

int OpenDescriptors() {
  int count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

// Past our own limit, by the system call itself.
void SendDescriptors(int socket, int count) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::vector<int> descriptors(static_cast<std::size_t>(count), null.get());
  std::vector<char> control(CMSG_SPACE(sizeof(int) * descriptors.size()));
  char byte = 'x';
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
  ASSERT_EQ(::sendmsg(socket, &message, 0), 1);
}

TEST(FrameSocketTest, CarriesFramesWholeWithTheirDescriptors) {
  auto [a, b] = FrameSocket::Pair().value();
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int descriptor = null.get();
  ASSERT_TRUE(a.Send("one", {descriptor}).ok());
  ASSERT_TRUE(a.Send(std::string(kMaxInitFrameBytes, 'z')).ok());

  Frame frame = b.Receive().value();
  EXPECT_EQ(frame.bytes, "one");
  ASSERT_EQ(frame.descriptors.size(), 1U);
  EXPECT_EQ(::fcntl(frame.descriptors[0].get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(b.Receive().value().bytes.size(), kMaxInitFrameBytes);
  EXPECT_EQ(b.Receive().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(FrameSocketTest, RefusesToSendWhatTheOtherSideWouldDrop) {
  auto [a, b] = FrameSocket::Pair().value();
  EXPECT_EQ(a.Send("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(a.Send(std::string(kMaxInitFrameBytes + 1, 'z')).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FrameSocketTest, TooManyDescriptorsLeakNone) {
  auto [a, b] = FrameSocket::Pair().value();
  const int before = OpenDescriptors();
  for (int i = 0; i < 50; ++i) {
    SendDescriptors(a.fd(), static_cast<int>(kMaxFrameDescriptors) + 8);
    EXPECT_EQ(b.Receive().status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FrameSocketTest, AFrameOverTheLimitIsLossNotACutFrame) {
  auto [a, b] = FrameSocket::Pair().value();
  const std::string huge(kMaxInitFrameBytes + 1, 'z');
  ASSERT_GT(::send(a.fd(), huge.data(), huge.size(), 0), 0);
  EXPECT_EQ(b.Receive().status().code(), absl::StatusCode::kDataLoss);
}

TEST(FrameSocketTest, AFullQueueIsSaidNotWaitedFor) {
  auto [a, b] = FrameSocket::Pair().value();
  absl::Status status;
  for (int i = 0; i < 100000 && status.ok(); ++i) status = a.Send(std::string(1024, 'z'));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(FrameSocketTest, AGonePeerIsUnavailableAndNoSignal) {
  auto [a, b] = FrameSocket::Pair().value();
  {
    const UniqueFd closed = b.Release();
  }
  EXPECT_EQ(a.Send("x").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(a.Receive().status().code(), absl::StatusCode::kUnavailable);
}

TEST(FrameSocketTest, AdoptsOnlySocketsOfWholeFrames) {
  int stream[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
  const UniqueFd other(stream[1]);
  EXPECT_FALSE(FrameSocket::Adopt(UniqueFd(stream[0])).ok());
  EXPECT_FALSE(FrameSocket::Adopt(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))).ok());
}

}  // namespace
}  // namespace sandkeep
