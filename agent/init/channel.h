// Init's end of the channel to the agent. Reads whole requests, drops what doesn't parse, and
// queues a bounded number of replies: nobody reads while the agent is dead, and a full queue must
// stop nothing. What may not be lost is kept as state (job.h) and said again in HelloReply.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/frame_socket.h"
#include "common/unique_fd.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep::init {

struct Request {
  v1::ToInit frame;
  std::vector<UniqueFd> descriptors;
};

class Channel {
 public:
  explicit Channel(FrameSocket socket) : socket_(std::move(socket)) {}

  // The next request. Nothing: none is there now, or the last one was broken (it is counted).
  std::optional<Request> Receive();

  // A request that parsed and still made no sense.
  void CountDropped() { ++dropped_; }
  std::uint64_t dropped() const { return dropped_; }

  // Replies in order; the oldest goes when there are too many.
  void Queue(const v1::FromInit& reply);
  void ForgetQueued() { queue_.clear(); }

  // False: the socket takes no more now.
  bool Flush();
  // Sends at once, past the queue, which must be empty. False: the socket takes no more now.
  bool Send(const v1::FromInit& frame);

  int fd() const { return socket_.fd(); }

 private:
  FrameSocket socket_;
  std::deque<std::string> queue_;
  std::uint64_t dropped_ = 0;
};

}  // namespace sandkeep::init
