// The kernel's own answer, and what no kernel would send.
#include "agent/init/listeners.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

std::string Message(std::uint16_t type, std::size_t body, std::uint16_t port = 0) {
  inet_diag_msg socket{};
  socket.id.idiag_sport = htons(port);
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body);
  head.nlmsg_type = type;
  std::string message(head.nlmsg_len, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  std::memcpy(message.data() + NLMSG_HDRLEN, &socket, std::min(body, sizeof socket));
  return message;
}

// Its end, with what the kernel's walk came to.
std::string Done(int result) {
  std::string message = Message(NLMSG_DONE, sizeof result);
  std::memcpy(message.data() + NLMSG_HDRLEN, &result, sizeof result);
  return message;
}

std::string Socket(std::uint16_t port) {
  return Message(SOCK_DIAG_BY_FAMILY, sizeof(inet_diag_msg), port);
}

bool HasDiagnostics() {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  return static_cast<bool>(socket);
}

// With its port: of IPv6, or of IPv4.
std::pair<UniqueFd, std::uint16_t> Listen(int family) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = static_cast<sa_family_t>(family);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), 1) != 0) {
    return {};
  }
  // Both have their port in the same place.
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return {std::move(socket), ntohs(address.sin6_port)};
}

TEST(ListenersTest, AreThoseOfBothFamiliesAsLongAsTheyListen) {
  if (!HasDiagnostics()) GTEST_SKIP() << "this kernel has no socket diagnostics";
  ASSERT_TRUE(AskForListeners().has_value());
  for (const int family : {AF_INET, AF_INET6}) {
    auto [socket, port] = Listen(family);
    if (!socket) continue;
    EXPECT_THAT(*AskForListeners(), Contains(port));
    socket.Reset();
    EXPECT_THAT(*AskForListeners(), Not(Contains(port)));
  }
}

TEST(ListenersTest, AConnectionIsNone) {
  if (!HasDiagnostics()) GTEST_SKIP() << "this kernel has no socket diagnostics";
  ASSERT_TRUE(AskForListeners().has_value());
  const auto [listener, port] = Listen(AF_INET);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(client.get(), reinterpret_cast<sockaddr*>(&address), &size);
  EXPECT_THAT(*AskForListeners(), Not(Contains(ntohs(address.sin_port))));
}

TEST(ListenersTest, AnAnswerMayComeInParts) {
  const auto first = ParseListeners(Socket(8000) + Socket(80));
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(first->ports, ElementsAre(8000, 80));
  EXPECT_FALSE(first->last);
  const auto last = ParseListeners(Socket(443) + Done(0) + "whatever follows");
  ASSERT_TRUE(last.has_value());
  EXPECT_THAT(last->ports, ElementsAre(443));
  EXPECT_TRUE(last->last);
}

TEST(ListenersTest, WhatNoKernelWouldSendIsNoAnswer) {
  EXPECT_FALSE(ParseListeners("x").has_value());
  EXPECT_FALSE(ParseListeners(Message(NLMSG_ERROR, sizeof(nlmsgerr))).has_value());
  EXPECT_FALSE(ParseListeners(Message(SOCK_DIAG_BY_FAMILY, 8)).has_value());
  const std::string whole = Socket(8000);
  EXPECT_FALSE(ParseListeners(whole + whole.substr(0, whole.size() - 1)).has_value());
  EXPECT_FALSE(ParseListeners(std::string(NLMSG_HDRLEN, '\0')).has_value());
  EXPECT_FALSE(ParseListeners(Message(NLMSG_DONE, 2)).has_value());
}

TEST(ListenersTest, AnEndThatNamesAnErrorIsNoAnswer) {
  EXPECT_FALSE(ParseListeners(Done(-ENOENT)).has_value());
  EXPECT_FALSE(ParseListeners(Socket(443) + Done(-EINTR)).has_value());
}

}  // namespace
}  // namespace sandkeep::init
