// Which TCP ports of the sandbox began to listen: a model that starts a server is told that nobody
// outside can reach it. Looks soon after something happened, then ever more rarely, and not at all
// while nothing lives. One thread.
#pragma once

#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sandkeep::init {

// The ports that listen in a table of /proc/net; a line that is cut off counts as not there.
std::vector<std::uint16_t> ListeningPorts(std::string_view table);

class PortWatch {
 public:
  // A command started or ended: a port may begin to listen.
  void Wake();

  // Until the next look. Nothing: there is no need of one.
  std::optional<std::chrono::milliseconds> UntilLook() const;

  // If a look is due: the ports that listen and didn't at the last look, at most kMaxPortsTold.
  std::vector<std::uint16_t> LookIfDue(bool anything_lives);

 private:
  using Ports = std::bitset<65536>;

  Ports known_;
  std::optional<std::chrono::steady_clock::time_point> next_;
  std::chrono::milliseconds interval_{0};
};

}  // namespace sandkeep::init
