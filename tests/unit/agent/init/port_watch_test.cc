// The tables of /proc/net as the kernel writes them, and this host's own.

#include "agent/init/port_watch.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>

#include "common/limits.h"
#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr char kHead[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";

TEST(PortWatchTest, FindsWhatListensInBothFamilies) {
  const std::string table =
      std::string(kHead) +
      "   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
      "   1: 0100007F:9C40 0100007F:1F40 01 00000000:00000000 00:00000000 00000000     0\n"
      "  17: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0\n";
  EXPECT_THAT(ListeningPorts(table), ElementsAre(8000, 80));
}

TEST(PortWatchTest, WhatCannotBeALineIsLeftOut) {
  for (const char* line :
       {"", "\n", "0: x 0:0 0A\n", "0: 0100007F:0000 0:0 0A\n", "0: 0100007F:10000 0:0 0A\n",
        "0: 0100007F:1F 0:0 0B\n", "0: 0100007F:1F40 00000000:0000 0A"}) {
    EXPECT_THAT(ListeningPorts(line), IsEmpty()) << line;
  }
}

class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 1), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  std::uint16_t port() const { return port_; }

 private:
  const UniqueFd socket_;
  std::uint16_t port_ = 0;
};

std::vector<std::uint16_t> NextLook(PortWatch& watch, bool anything_lives = true) {
  watch.Wake();
  std::this_thread::sleep_for(*watch.UntilLook());
  return watch.LookIfDue(anything_lives);
}

TEST(PortWatchTest, TellsOfAPortOnceWhileItListens) {
  PortWatch watch;
  NextLook(watch);  // What this host has anyway.
  const Listener listener;
  EXPECT_THAT(NextLook(watch), Contains(listener.port()));
  EXPECT_THAT(NextLook(watch), Not(Contains(listener.port())));
}

TEST(PortWatchTest, LooksEverMoreRarelyAndNotAtAllWhileNothingLives) {
  PortWatch watch;
  EXPECT_FALSE(watch.UntilLook().has_value());
  NextLook(watch);
  EXPECT_GT(*watch.UntilLook(), kFirstPortLook);
  NextLook(watch, false);
  EXPECT_FALSE(watch.UntilLook().has_value());
}

TEST(PortWatchTest, IsNotDueBeforeItsTimeHoweverOftenItIsWoken) {
  PortWatch watch;
  watch.Wake();
  const auto first = *watch.UntilLook();
  watch.Wake();
  EXPECT_LE(*watch.UntilLook(), first);
  EXPECT_THAT(watch.LookIfDue(true), IsEmpty());
  EXPECT_TRUE(watch.UntilLook().has_value());
}

}  // namespace
}  // namespace sandkeep::init
