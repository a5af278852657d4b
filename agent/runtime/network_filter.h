// Whether the network `internet` is what its name says: found by trying, as often as asked.
//
// The helper that carries a sandbox's traffic runs as this process's user and in its cgroup, so
// what this process can't reach by reason of a filter, no sandbox can. Who filters doesn't matter:
// the unit's IPAddressDeny= does, and so may a rule of the operator's own.
//
// One try is one empty datagram to the discard port, which goes no farther than one hop, and only
// where nothing filters. Some dozen system calls: any thread, at any time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/address_ranges.h"

namespace sandkeep {

// NETWORK_ALLOW, and the resolvers that such a file names: nobody expects these to be denied.
AddressRanges WithResolvers(AddressRanges allowed, const std::string& resolv_conf);

// This machine's own addresses, and some of each range that `internet` denies.
std::vector<std::string> DeniedAddresses();

// OK: none of them is reached. FailedPrecondition names the first that is, and the remedy.
// Unavailable: it couldn't be tried.
absl::Status CheckDenied(const std::vector<std::string>& denied, const AddressRanges& expected);

}  // namespace sandkeep
