// The proxies whose word for who a client is, is taken: TRUSTED_PROXIES. Made once; then any
// thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep::http {

class Proxies {
 public:
  // Addresses and ranges, as 192.0.2.7 and 2001:db8::/32. InvalidArgument: one is neither.
  static absl::StatusOr<Proxies> Make(const std::vector<std::string>& entries);

  // The address that `peer` speaks for: of those that X-Forwarded-For names (`forwarded`), each
  // added at the end by the one that it came to, the last that isn't such a proxy's. What stands
  // before it is anybody's claim.
  std::string ClientOf(const std::string& peer, std::string_view forwarded) const;

 private:
  // IPv4 as IPv6 has it.
  using Address = std::array<unsigned char, 16>;
  struct Range {
    Address first;
    unsigned bits;
  };

  static bool Parse(std::string_view text, Address* address);
  bool Trusts(const std::string& address) const;

  std::vector<Range> ranges_;
};

}  // namespace sandkeep::http
