#include "gateway/http/source.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>

namespace sandkeep::http {

std::string SourceOf(std::string_view address) {
  constexpr std::size_t kNetworkBytes = 8;  // A /64.
  in6_addr parsed{};
  std::string text(address);
  if (::inet_pton(AF_INET6, text.c_str(), &parsed) != 1) return text;
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) return text;
  return {reinterpret_cast<const char*>(&parsed), kNetworkBytes};
}

}  // namespace sandkeep::http
