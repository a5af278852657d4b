// The socket's own life: what is in its place, and what happens when descriptors run out.

#include "agent/peer_listener/peer_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "agent/peer_listener/unix_socket.h"
#include "common/limits.h"
#include "tests/fakes/patience.h"

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class PeerListenerTest : public testing::Test {
 protected:
  PeerListenerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "sandkeep-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~PeerListenerTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/agent.sock"; }

  absl::StatusOr<std::shared_ptr<PeerListener>> Listen() {
    auto take = [this](UniqueFd connection) { taken_.push_back(std::move(connection)); };
    return ListenForPeers(io_.get_executor(), path(), SOCK_STREAM, std::nullopt,
                          {{.uid = ::geteuid(), .take = take}});
  }

  UniqueFd Connect() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return UniqueFd();
    }
    return fd;
  }

  template <typename Condition>
  bool RunUntil(const Condition& done) {
    const auto limit = std::chrono::steady_clock::now() + kTestPatience;
    while (!done() && std::chrono::steady_clock::now() < limit) io_.run_for(milliseconds(1));
    return done();
  }

  std::string folder_;
  boost::asio::io_context io_;
  std::vector<UniqueFd> taken_;
};

TEST_F(PeerListenerTest, TheSocketIsForItsGroupAndGoesWithItsListener) {
  const auto listener = Listen();
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat info;
  ASSERT_EQ(::lstat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0660u);
  const UniqueFd connection = Connect();
  EXPECT_TRUE(RunUntil([this] { return taken_.size() == 1; }));
  (*listener)->Stop();
  io_.run();
  EXPECT_NE(::lstat(path().c_str(), &info), 0);
}

TEST_F(PeerListenerTest, ASocketThatADeadProcessLeftIsReplaced) {
  {
    ASSERT_TRUE(BindUnixSocket(path(), SOCK_STREAM, std::nullopt).ok());
  }
  ASSERT_FALSE(Connect().valid()) << "nobody listens there";
  EXPECT_TRUE(Listen().ok());
  EXPECT_TRUE(Connect().valid());
}

TEST_F(PeerListenerTest, ASocketOnWhichSomebodyListensIsLeftAlone) {
  ASSERT_TRUE(Listen().ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Listen().status()));
  EXPECT_TRUE(Connect().valid());
}

TEST_F(PeerListenerTest, WhatIsNoSocketIsLeftAlone) {
  std::ofstream(path()) << "precious";
  EXPECT_TRUE(absl::IsFailedPrecondition(Listen().status()));
  EXPECT_EQ(std::filesystem::file_size(path()), 8u);
}

TEST_F(PeerListenerTest, AFolderThatOthersCanWriteIsRefused) {
  for (const int mode : {0770, 0707, 01777}) {
    ASSERT_EQ(::chmod(folder_.c_str(), mode), 0);
    const auto listener = Listen();
    EXPECT_TRUE(absl::IsFailedPrecondition(listener.status())) << listener.status();
    EXPECT_THAT(std::string(listener.status().message()), HasSubstr(folder_));
  }
}

TEST_F(PeerListenerTest, APathThatIsNoneIsRefusedByTheSettingsName) {
  for (const std::string& wrong : {std::string("relative.sock"), std::string(),
                                   "/" + std::string(sizeof(sockaddr_un::sun_path), 'x')}) {
    const auto socket = BindUnixSocket(wrong, SOCK_STREAM, std::nullopt);
    EXPECT_TRUE(absl::IsInvalidArgument(socket.status()));
    EXPECT_THAT(std::string(socket.status().message()), HasSubstr("AGENT_SOCKET"));
  }
}

TEST_F(PeerListenerTest, OnlySoManyConnectionsOfAUserAndAPlaceComesBack) {
  const auto listener = Listen();
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::vector<UniqueFd> ours;
  for (int i = 0; i < kMaxConnectionsPerUid + 3; ++i) ours.push_back(Connect());
  const auto full = [this] { return static_cast<int>(taken_.size()) == kMaxConnectionsPerUid; };
  ASSERT_TRUE(RunUntil(full));
  // The three that are too many were in the same queue: the last one's end is seen.
  char byte;
  ASSERT_TRUE(RunUntil([&] { return ::recv(ours.back().get(), &byte, 1, MSG_DONTWAIT) == 0; }));
  EXPECT_TRUE(full());
  // Whoever took it shuts it down, as gRPC does, while our end stays open.
  ::shutdown(taken_.front().get(), SHUT_RDWR);
  io_.run_for(milliseconds(1));
  ours.push_back(Connect());
  EXPECT_TRUE(
      RunUntil([this] { return static_cast<int>(taken_.size()) == kMaxConnectionsPerUid + 1; }));
}

double ProcessorSeconds() {
  timespec used = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

TEST_F(PeerListenerTest, WithoutDescriptorsItPausesAndGoesOnByItself) {
  const auto listener = Listen();
  ASSERT_TRUE(listener.ok()) << listener.status();
  io_.run_for(milliseconds(1));
  const UniqueFd waiting = Connect();
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest limit that has no free number below it: descriptors here are dense.
  const UniqueFd probe(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  rlimit none = {.rlim_cur = static_cast<rlim_t>(probe.get()) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const double begin = ProcessorSeconds();
  io_.run_for(milliseconds(350));
  const double used = ProcessorSeconds() - begin;
  EXPECT_TRUE(taken_.empty());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(used, 0.1) << "it spins";
  EXPECT_TRUE(RunUntil([this] { return taken_.size() == 1; }));
}

}  // namespace
}  // namespace sandkeep
