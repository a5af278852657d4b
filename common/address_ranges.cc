#include "common/address_ranges.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr unsigned kIpv6Bits = 128;
constexpr unsigned kBitsBeforeIpv4 = 96;

bool SamePrefix(const IpAddress& one, const IpAddress& other, unsigned bits) {
  constexpr unsigned kByte = 8;
  const unsigned whole = bits / kByte;
  if (!std::equal(one.begin(), one.begin() + whole, other.begin())) return false;
  const unsigned rest = bits % kByte;
  return rest == 0 || (one[whole] ^ other[whole]) >> (kByte - rest) == 0;
}

}  // namespace

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  IpAddress address{};
  if (::inet_pton(AF_INET6, plain.c_str(), address.data()) == 1) return address;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::size_t kBytesBeforeIpv4 = kBitsBeforeIpv4 / 8;
  if (::inet_pton(AF_INET, plain.c_str(), address.data() + kBytesBeforeIpv4) == 1) return address;
  return std::nullopt;
}

std::optional<AddressRanges::Range> AddressRanges::ParseRange(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> first = ParseIpAddress(text.substr(0, slash));
  if (!first.has_value()) return std::nullopt;
  if (slash == std::string_view::npos) return Range{*first, kIpv6Bits};
  const unsigned before = text.find(':') == std::string_view::npos ? kBitsBeforeIpv4 : 0;
  unsigned bits = 0;
  if (!absl::SimpleAtoi(ToAbsl(text.substr(slash + 1)), &bits) || bits > kIpv6Bits - before) {
    return std::nullopt;
  }
  return Range{*first, before + bits};
}

absl::StatusOr<AddressRanges> AddressRanges::Make(std::string_view setting,
                                                  const std::vector<std::string>& entries) {
  AddressRanges ranges;
  Mistakes mistakes;
  for (const std::string& entry : entries) {
    const std::optional<Range> range = ParseRange(entry);
    if (range.has_value()) {
      ranges.ranges_.push_back(*range);
    } else {
      mistakes.Add(
          StrCat(setting, ": `", entry, "` is no address or range like 127.0.0.1 or 10.0.0.0/8"));
    }
  }
  RETURN_IF_ERROR(mistakes.status());
  return ranges;
}

void AddressRanges::AddAddress(std::string_view text) {
  const std::optional<IpAddress> address = ParseIpAddress(text);
  if (address.has_value()) ranges_.push_back({*address, kIpv6Bits});
}

bool AddressRanges::Contain(const IpAddress& address) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&address](const Range& range) {
    return SamePrefix(address, range.first, range.bits);
  });
}

}  // namespace sandkeep
