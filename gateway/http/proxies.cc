#include "gateway/http/proxies.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

// As proxies write it, with a port or without.
std::string WithoutPort(std::string_view text) {
  text = ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
  if (!text.empty() && text.front() == '[') return std::string(text.substr(1, text.find(']') - 1));
  const bool ipv4_and_port = std::count(text.begin(), text.end(), ':') == 1;
  return std::string(ipv4_and_port ? text.substr(0, text.find(':')) : text);
}

}  // namespace

absl::StatusOr<Proxies> Proxies::Make(const std::vector<std::string>& entries) {
  Proxies proxies;
  ASSIGN_OR_RETURN(proxies.ranges_, AddressRanges::Make("TRUSTED_PROXIES", entries));
  return proxies;
}

bool Proxies::Trusts(const std::string& address) const {
  const std::optional<IpAddress> parsed = ParseIpAddress(address);
  return parsed.has_value() && ranges_.Contain(*parsed);
}

std::string Proxies::ClientOf(const std::string& peer, std::string_view forwarded) const {
  std::string client = peer;
  while (!forwarded.empty() && Trusts(client)) {
    const std::size_t comma = forwarded.rfind(',');
    const std::string next =
        WithoutPort(comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1));
    if (!ParseIpAddress(next).has_value()) break;
    client = next;
    forwarded = comma == std::string_view::npos ? std::string_view() : forwarded.substr(0, comma);
  }
  return client;
}

}  // namespace sandkeep::http
