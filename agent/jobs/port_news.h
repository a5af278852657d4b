// Ports of one sandbox that began to listen, until somebody was told: whoever watches a command of
// it then, else whoever starts the next one. On the sandbox's strand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {

class PortNews {
 public:
  void Add(std::uint16_t port) {
    const bool known = std::find(ports_.begin(), ports_.end(), port) != ports_.end();
    if (!known && ports_.size() < kMaxPortsTold) ports_.push_back(port);
  }

  // The container is gone, and they with it.
  void Clear() { ports_.clear(); }

  // A line for the model.
  std::optional<std::string> Take() {
    if (ports_.empty()) return std::nullopt;
    const std::uint16_t port = ports_.front();
    ports_.pop_front();
    return StrCat("port ", port,
                  " listens now, reachable only from this sandbox: show the person a file or a "
                  "screenshot of what it serves");
  }

 private:
  std::deque<std::uint16_t> ports_;
};

}  // namespace sandkeep
