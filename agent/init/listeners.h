// The TCP ports that listen in this network namespace, by the kernel's socket diagnostics. Those
// ask for listening sockets alone; for its tables in /proc/net the kernel also walks all places
// that a connection might have, of the whole machine, which takes milliseconds.
//
// Never waits. Looks at no more than kMaxPortTableBytes of answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sandkeep::init {

// IPv4's, then IPv6's. Nothing: this kernel doesn't say.
std::optional<std::vector<std::uint16_t>> AskForListeners();

// What one datagram of the answer says.
struct ListenersPart {
  std::vector<std::uint16_t> ports;
  bool last = false;
};
// Nothing: an error, or nothing that the kernel would send.
std::optional<ListenersPart> ParseListeners(std::string_view datagram);

}  // namespace sandkeep::init
