// Frames on their way to init: what the socket doesn't take at once waits here, in order and
// bounded. On the sandbox's strand.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/frame_socket.h"
#include "common/unique_fd.h"

namespace sandkeep {

struct OutFrame {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};

class Outbox {
 public:
  // All of them or none. ResourceExhausted: init doesn't read.
  absl::Status Add(std::vector<OutFrame> frames);

  // Sends what the socket takes; a sent frame's descriptors are closed. Ok with frames left: wait
  // until the socket is writable.
  absl::Status Flush(FrameSocket& socket);

  bool empty() const { return frames_.empty(); }

 private:
  std::deque<OutFrame> frames_;
  std::size_t bytes_ = 0;
};

}  // namespace sandkeep
