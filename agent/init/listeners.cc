#include "agent/init/listeners.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/limits.h"
#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

bool Ask(const UniqueFd& socket, int family) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 what;
  } question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.what.sdiag_family = static_cast<std::uint8_t>(family);
  question.what.sdiag_protocol = IPPROTO_TCP;
  question.what.idiag_states = 1U << TCP_LISTEN;
  return ::send(socket.get(), &question, sizeof question, MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof question);
}

bool TakeAnswer(const UniqueFd& socket, std::string& buffer, std::vector<std::uint16_t>& ports) {
  for (std::size_t taken = 0; taken < kMaxPortTableBytes;) {
    const ssize_t size = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size <= 0) return false;
    taken += static_cast<std::size_t>(size);
    const std::optional<ListenersPart> part =
        ParseListeners(std::string_view(buffer).substr(0, static_cast<std::size_t>(size)));
    if (!part.has_value()) return false;
    ports.insert(ports.end(), part->ports.begin(), part->ports.end());
    if (part->last) return true;
  }
  return true;
}

// The last message says how it went: without a module that knows TCP's sockets the kernel takes the
// question and answers that there is no such thing.
bool EndsWell(const nlmsghdr& head, std::string_view done) {
  int error = 0;
  if (head.nlmsg_len < NLMSG_HDRLEN + sizeof error) return false;
  std::memcpy(&error, done.data() + NLMSG_HDRLEN, sizeof error);
  return error >= 0;
}

}  // namespace

std::optional<ListenersPart> ParseListeners(std::string_view datagram) {
  ListenersPart part;
  while (!datagram.empty()) {
    nlmsghdr head{};
    if (datagram.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, datagram.data(), sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > datagram.size()) return std::nullopt;
    if (head.nlmsg_type == NLMSG_DONE) {
      if (!EndsWell(head, datagram)) return std::nullopt;
      part.last = true;
      return part;
    }
    inet_diag_msg socket{};
    const bool is_socket =
        head.nlmsg_type == SOCK_DIAG_BY_FAMILY && head.nlmsg_len >= NLMSG_HDRLEN + sizeof socket;
    if (!is_socket) return std::nullopt;
    std::memcpy(&socket, datagram.data() + NLMSG_HDRLEN, sizeof socket);
    part.ports.push_back(ntohs(socket.id.idiag_sport));
    datagram.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), datagram.size()));
  }
  return part;
}

std::optional<std::vector<std::uint16_t>> AskForListeners() {
  std::vector<std::uint16_t> ports;
  std::string buffer(kMaxPortTablePartBytes, '\0');
  for (const int family : {AF_INET, AF_INET6}) {
    // One each: what is left of an answer that was cut off is no answer to the next question.
    const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!socket || !Ask(socket, family) || !TakeAnswer(socket, buffer, ports)) return std::nullopt;
  }
  return ports;
}

}  // namespace sandkeep::init
