// What the agent's socket does with those who aren't its clients: strangers, garbage, silence and
// crowds.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "common/limits.h"
#include "common/unique_fd.h"
#include "tests/fakes/patience.h"
#include "tests/integration/agent_harness.h"

namespace sandkeep {
namespace {

constexpr uid_t kNobody = 65534;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

UniqueFd Connect(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ADD_FAILURE() << "connect: " << strerror(errno);
  }
  return fd;
}

void Send(const UniqueFd& fd, std::string_view bytes) {
  // The far end may have closed already; that is for Receive to find.
  [[maybe_unused]] const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// All that comes until the far end closes; it must do so.
std::string ReceiveToEnd(const UniqueFd& fd) {
  std::string received;
  for (;;) {
    pollfd waiting = {.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kTestPatienceMs) != 1) {
      ADD_FAILURE() << "the connection was not closed";
      return received;
    }
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return received;
    received.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// The far end's first words: it has let us in.
bool IsLetIn(const UniqueFd& fd) {
  pollfd waiting = {.fd = fd.get(), .events = POLLIN, .revents = 0};
  std::array<char, 1> byte;
  return ::poll(&waiting, 1, kTestPatienceMs) == 1 &&
         ::recv(fd.get(), byte.data(), 1, MSG_PEEK) == 1;
}

// Whose place has just become free may find that nobody has seen it yet.
UniqueFd ConnectOnceThereIsAPlace(const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + kTestPatience;
  while (std::chrono::steady_clock::now() < until) {
    UniqueFd fd = Connect(path);
    Send(fd, kPreface);
    if (IsLetIn(fd)) return fd;
  }
  return {};
}

int OpenDescriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return static_cast<int>(std::distance(begin, std::filesystem::directory_iterator()));
}

bool Answers(AgentHarness& agent) { return agent.Run(agent.client->GetInfo({})).ok(); }

// Runs `body` on a thread that the kernel takes for another user's. The raw calls change the
// calling thread only.
template <typename Body>
void AsUser(uid_t uid, const Body& body) {
  std::thread thread([&] {
    if (::syscall(SYS_setresuid, uid, uid, uid) != 0) {
      ADD_FAILURE() << "setresuid: " << strerror(errno);
      return;
    }
    body();
  });
  thread.join();
}

TEST(AgentPeersTest, AnotherUsersConnectionIsClosedBeforeAByteOfGrpc) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  AgentHarness agent;
  // As open as a careless operator could make it.
  std::filesystem::permissions(agent.folder(), std::filesystem::perms(0755));
  ::chmod(agent.socket_path().c_str(), 0666);
  AsUser(kNobody, [&] {
    for (int i = 0; i < 20; ++i) {
      const UniqueFd connection = Connect(agent.socket_path());
      Send(connection, kPreface);
      EXPECT_EQ(ReceiveToEnd(connection), "");
    }
  });
  EXPECT_EQ(agent.manager.calls, 0);
  EXPECT_TRUE(Answers(agent));
}

TEST(AgentPeersTest, ASecondListedUserIsServedUnderItsOwnName) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  AgentHarness agent(
      std::vector<Peer>{{.uid = ::geteuid(), .frontend = true, .operate = true, .prefix = ""},
                        {.uid = kNobody, .frontend = true, .operate = false, .prefix = "stdio"}});
  std::filesystem::permissions(agent.folder(), std::filesystem::perms(0755));
  ::chmod(agent.socket_path().c_str(), 0666);
  AsUser(kNobody, [&] {
    const UniqueFd connection = Connect(agent.socket_path());
    Send(connection, kPreface);
    EXPECT_TRUE(IsLetIn(connection));
  });
  EXPECT_TRUE(Answers(agent));
}

TEST(AgentPeersTest, AThousandGarbageConnectionsLeaveTheServiceAndItsDescriptorsAlone) {
  AgentHarness agent;
  ASSERT_TRUE(Answers(agent));
  const int before = OpenDescriptors();
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const UniqueFd connection = Connect(agent.socket_path());
    std::string garbage(1 + random() % 2000, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    // Some get past the greeting.
    if (i % 3 == 0) garbage = std::string(kPreface) + garbage;
    Send(connection, garbage);
    if (i % 2 == 0) ::shutdown(connection.get(), SHUT_WR);
    EXPECT_TRUE(i % 50 != 0 || Answers(agent));
    // The sixteen places are free again as fast as they are taken, since we wait for each end.
    ReceiveToEnd(connection);
  }
  EXPECT_TRUE(Answers(agent));
  // The agent sees the last ends a moment after we did.
  for (int i = 0; i < 200 && OpenDescriptors() > before + 2; ++i) ASSERT_TRUE(Answers(agent));
  EXPECT_LE(OpenDescriptors(), before + 2);
}

TEST(AgentPeersTest, TheSeventeenthConnectionOfAUserIsRefusedAndAPlaceComesBack) {
  AgentHarness agent;
  ASSERT_TRUE(Answers(agent));  // The client's own is the first.
  std::vector<UniqueFd> silent;
  while (static_cast<int>(silent.size()) < kMaxConnectionsPerUid - 1) {
    silent.push_back(Connect(agent.socket_path()));
    Send(silent.back(), kPreface);
    ASSERT_TRUE(IsLetIn(silent.back()));
  }
  for (int i = 0; i < 5; ++i) {
    const UniqueFd refused = Connect(agent.socket_path());
    Send(refused, kPreface);
    EXPECT_EQ(ReceiveToEnd(refused), "");
  }
  EXPECT_TRUE(Answers(agent));
  // A place is counted by the socket's end, whoever made it.
  silent.pop_back();
  EXPECT_TRUE(ConnectOnceThereIsAPlace(agent.socket_path()));
}

TEST(AgentPeersTest, ASilentConnectionIsClosedAndItsPlaceComesBack) {
  AgentHarness agent;
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(Connect(agent.socket_path()));
  EXPECT_TRUE(Answers(agent));
  // gRPC ends them at the greeting's deadline. Our ends stay open: the count lives on gRPC's
  // shutting the socket down.
  for (const UniqueFd& connection : silent) ReceiveToEnd(connection);
  for (int round = 0; round < 2; ++round) {
    std::vector<UniqueFd> welcome;
    for (int i = 0; i < 8; ++i) {
      welcome.push_back(ConnectOnceThereIsAPlace(agent.socket_path()));
      ASSERT_TRUE(welcome.back());
    }
  }
}

TEST(AgentPeersTest, NoDescriptorCanBeQueuedOnTheSocketWhereTheKernelKnowsHow) {
  AgentHarness agent;
  const UniqueFd connection = Connect(agent.socket_path());
  char byte = 'x';
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = connection.get();
  std::copy_n(reinterpret_cast<const char*>(&descriptor), sizeof(int), CMSG_DATA(header));

  int value = 0;
  socklen_t size = sizeof(value);
  constexpr int kSoPassRights = 83;
  if (::getsockopt(connection.get(), SOL_SOCKET, kSoPassRights, &value, &size) != 0) {
    GTEST_SKIP() << "this kernel has no SO_PASSRIGHTS";
  }
  EXPECT_EQ(::sendmsg(connection.get(), &message, MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, EPERM);
}

}  // namespace
}  // namespace sandkeep
