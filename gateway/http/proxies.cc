#include "gateway/http/proxies.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned kIpv6Bits = 128;
constexpr unsigned kBitsBeforeIpv4 = 96;

// As proxies write it, with a port or without.
std::string WithoutPort(std::string_view text) {
  text = ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
  if (!text.empty() && text.front() == '[') return std::string(text.substr(1, text.find(']') - 1));
  const bool ipv4_and_port = std::count(text.begin(), text.end(), ':') == 1;
  return std::string(ipv4_and_port ? text.substr(0, text.find(':')) : text);
}

bool SamePrefix(const unsigned char* one, const unsigned char* other, unsigned bits) {
  constexpr unsigned kByte = 8;
  const unsigned whole = bits / kByte;
  if (!std::equal(one, one + whole, other)) return false;
  const unsigned rest = bits % kByte;
  return rest == 0 || (one[whole] ^ other[whole]) >> (kByte - rest) == 0;
}

}  // namespace

bool Proxies::Parse(std::string_view text, Address* address) {
  boost::system::error_code error;
  const ip::address parsed = ip::make_address(std::string(text), error);
  if (error) return false;
  const ip::address_v6 mapped =
      parsed.is_v6() ? parsed.to_v6() : ip::make_address_v6(ip::v4_mapped, parsed.to_v4());
  *address = mapped.to_bytes();
  return true;
}

absl::StatusOr<Proxies> Proxies::Make(const std::vector<std::string>& entries) {
  Proxies proxies;
  Mistakes mistakes;
  for (const std::string& entry : entries) {
    const std::size_t slash = entry.find('/');
    Range range{{}, kIpv6Bits};
    bool good = Parse(std::string_view(entry).substr(0, slash), &range.first);
    if (good && slash != std::string::npos) {
      const unsigned before = entry.find(':') == std::string::npos ? kBitsBeforeIpv4 : 0;
      unsigned bits = 0;
      good = absl::SimpleAtoi(entry.substr(slash + 1), &bits) && bits <= kIpv6Bits - before;
      range.bits = before + bits;
    }
    if (good) {
      proxies.ranges_.push_back(range);
    } else {
      mistakes.Add(StrCat("TRUSTED_PROXIES: `", entry,
                          "` is no address or range like 127.0.0.1 or 10.0.0.0/8"));
    }
  }
  RETURN_IF_ERROR(mistakes.status());
  return proxies;
}

bool Proxies::Trusts(const std::string& address) const {
  Address bytes;
  if (!Parse(address, &bytes)) return false;
  return std::any_of(ranges_.begin(), ranges_.end(), [&bytes](const Range& range) {
    return SamePrefix(bytes.data(), range.first.data(), range.bits);
  });
}

std::string Proxies::ClientOf(const std::string& peer, std::string_view forwarded) const {
  std::string client = peer;
  while (!forwarded.empty() && Trusts(client)) {
    const std::size_t comma = forwarded.rfind(',');
    const std::string next =
        WithoutPort(comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1));
    Address ignored;
    if (!Parse(next, &ignored)) break;
    client = next;
    forwarded = comma == std::string_view::npos ? std::string_view() : forwarded.substr(0, comma);
  }
  return client;
}

}  // namespace sandkeep::http
