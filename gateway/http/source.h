// Who counts as one when addresses are counted: an IPv4 address, or a /64 of IPv6, all of which one
// machine can have. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep::http {

// A key, not a text to show. `address` as inet_ntop writes it.
std::string SourceOf(std::string_view address);

}  // namespace sandkeep::http
