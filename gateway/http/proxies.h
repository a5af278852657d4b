// The proxies whose word for who a client is, is taken: TRUSTED_PROXIES. Made once; then any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/address_ranges.h"

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
  bool Trusts(const std::string& address) const;

  AddressRanges ranges_;
};

}  // namespace sandkeep::http
