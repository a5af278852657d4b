// Fetches what OpenFile gave a ticket for, over the agent's descriptor socket
// (common/descriptor_frame.h). One connection, made lazily and again whenever needed. Thread-safe;
// calls resume on the caller's executor. Nothing blocks.
//
// Where it doesn't work (there is no socket, the agent is gone, this machine's rules let no
// descriptor in) the door stays shut for a while, so that not every call finds that out; who calls
// has ReadFile.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

class DescriptorDoor {
 public:
  // `executor` runs the connection's reads.
  DescriptorDoor(const boost::asio::any_io_executor& executor, const std::string& api_socket_path);
  ~DescriptorDoor();

  // Worth asking for a ticket.
  bool open() const;

  // What the ticket is good for, not looked at. NotFound: nothing (any more); PermissionDenied: no
  // descriptor comes in here; Unavailable, DeadlineExceeded: the agent doesn't answer.
  Async<UniqueFd> Fetch(std::string ticket);
  // What was fetched is no longer in use; until then its sandbox is kept awake. From any thread.
  void Done(const std::string& ticket);

 private:
  class Line;

  const std::shared_ptr<Line> line_;
};

}  // namespace sandkeep
