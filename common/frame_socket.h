// One end of a SOCK_SEQPACKET pair that carries whole frames, descriptors riding on them: the
// channel between our own processes. Non-blocking; the caller waits for readiness. One thread or
// strand at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/unique_fd.h"

namespace sandkeep {

struct Frame {
  std::string bytes;
  std::vector<UniqueFd> descriptors;  // close-on-exec
};

class FrameSocket {
 public:
  // Both ends close-on-exec and non-blocking.
  static absl::StatusOr<std::pair<FrameSocket, FrameSocket>> Pair();

  // Takes over a descriptor from elsewhere. InvalidArgument: not a SOCK_SEQPACKET Unix socket.
  static absl::StatusOr<FrameSocket> Adopt(UniqueFd socket);

  // ResourceExhausted: the queue is full, wait until it is writable. InvalidArgument: over the
  // limits of common/limits.h. Unavailable: the other end is gone. Never SIGPIPE.
  absl::Status Send(std::string_view frame, absl::Span<const int> descriptors = {});

  // ResourceExhausted: nothing there now. DataLoss: a frame over the limit or with more descriptors
  // than the limit (it is dropped, its descriptors closed). Unavailable: the other end is gone.
  absl::StatusOr<Frame> Receive();

  int fd() const { return socket_.get(); }
  UniqueFd Release() { return std::move(socket_); }

 private:
  explicit FrameSocket(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace sandkeep
