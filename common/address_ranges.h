// Addresses and ranges that an operator lists, as 192.0.2.7 and 2001:db8::/32. Made once; then any
// thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep {

// IPv4 as IPv6 has it (::ffff:192.0.2.7).
using IpAddress = std::array<unsigned char, 16>;

// Nothing: it isn't one. A zone (fe80::1%eth0) is left out.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

class AddressRanges {
 public:
  // InvalidArgument: entries that are neither, each named beside the setting that has them.
  static absl::StatusOr<AddressRanges> Make(std::string_view setting,
                                            const std::vector<std::string>& entries);

  // Plain addresses that we found ourselves; what isn't one is left out.
  void AddAddress(std::string_view text);

  bool Contain(const IpAddress& address) const;

 private:
  struct Range {
    IpAddress first;
    unsigned bits;
  };

  static std::optional<Range> ParseRange(std::string_view text);

  std::vector<Range> ranges_;
};

}  // namespace sandkeep
