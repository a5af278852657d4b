#include "agent/runtime/network_filter.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

constexpr const char* kDiscardPort = "9";
constexpr std::string_view kNameserver = "nameserver";

// Of every range one whose route is most likely the range's own; and those that clouds answer at.
constexpr std::array<std::string_view, 11> kOfEachRange = {
    "127.0.0.1",      "127.255.255.254", "::1",          "10.255.255.254",
    "172.31.255.254", "192.168.255.254", "100.64.0.1",   "169.254.169.254",
    "fd00::1",        "fd00:ec2::254",   "fdff:ffff::1",
};

struct FreeAddressInfo {
  void operator()(addrinfo* info) const { ::freeaddrinfo(info); }
};
using AddressInfo = std::unique_ptr<addrinfo, FreeAddressInfo>;

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

// With the zone that a link-local one has.
AddressInfo Resolve(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), kDiscardPort, &hints, &found) != 0) return nullptr;
  return AddressInfo(found);
}

void KeepWithinOneHop(int socket, int family) {
  const int hops = 1;
  if (family == AF_INET6) {
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof hops);
  } else {
    ::setsockopt(socket, IPPROTO_IP, IP_TTL, &hops, sizeof hops);
  }
}

// What says that nothing has left: a filter, or no way there. Anything else proves nothing.
bool IsRefusal(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENETDOWN:
    case EINVAL:  // A route that leads nowhere (`ip route add blackhole`).
      return true;
    default:
      return false;
  }
}

absl::StatusOr<bool> IsReached(const std::string& address) {
  const AddressInfo to = Resolve(address);
  if (to == nullptr) return false;
  const UniqueFd socket(::socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket && IsRefusal(errno)) return false;
  if (!socket) return ErrnoStatus(errno, "a socket to try the network with");
  KeepWithinOneHop(socket.get(), to->ai_family);
  if (::sendto(socket.get(), "", 0, MSG_NOSIGNAL, to->ai_addr, to->ai_addrlen) == 0) return true;
  if (IsRefusal(errno)) return false;
  return absl::UnavailableError(StrCat("trying ", address, ": ", std::strerror(errno)));
}

std::optional<std::string> TextOf(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  const bool ipv6 = address->sa_family == AF_INET6;
  if (!ipv6 && address->sa_family != AF_INET) return std::nullopt;
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size = ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return std::nullopt;
  }
  return std::string(text.data());
}

}  // namespace

AddressRanges WithResolvers(AddressRanges allowed, const std::string& resolv_conf) {
  std::error_code none;
  const std::string path = std::filesystem::canonical(resolv_conf, none).string();
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxResolvConfBytes);
  if (!text.ok()) return allowed;
  for (const std::string_view line : Split(*text, '\n')) {
    const std::size_t end = line.find_first_of(" \t");
    if (line.substr(0, end) != kNameserver || end == std::string_view::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t", end);
    if (first == std::string_view::npos) continue;
    const std::string_view rest = line.substr(first);
    allowed.AddAddress(rest.substr(0, rest.find_first_of(" \t#;")));
  }
  return allowed;
}

std::vector<std::string> DeniedAddresses() {
  std::vector<std::string> denied(kOfEachRange.begin(), kOfEachRange.end());
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return denied;
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    std::optional<std::string> text = TextOf(one->ifa_addr);
    if (text.has_value() && (one->ifa_flags & IFF_UP) != 0) denied.push_back(*std::move(text));
  }
  return denied;
}

absl::Status CheckDenied(const std::vector<std::string>& denied, const AddressRanges& expected) {
  for (const std::string& address : denied) {
    const std::optional<IpAddress> parsed = ParseIpAddress(address);
    if (!parsed.has_value() || expected.Contain(*parsed)) continue;
    ASSIGN_OR_RETURN(const bool reached, IsReached(address));
    if (!reached) continue;
    return absl::FailedPreconditionError(
        StrCat("SANDBOX_NETWORK=internet: nothing keeps sandboxes from ", address,
               ". Run the agent by its unit (deploy/systemd, with sandkeep-netdeny.service), on a "
               "host whose systemd filters by cgroup v2; or set SANDBOX_NETWORK to full, if they "
               "may reach your own network, or to none"));
  }
  return absl::OkStatus();
}

}  // namespace sandkeep
