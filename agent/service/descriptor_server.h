// Hands opened files over to front ends, on the socket beside the API's: a ticket of OpenFile comes
// in, its descriptor goes out (common/descriptor_frame.h). Nothing is ever received but tickets:
// the socket takes no descriptors (where the kernel can refuse them).
//
// Owned by the server; each connection is a coroutine on a strand of its own. A front end that
// doesn't take its answers isn't read from. Of one connection at most kMaxFilesHanded files count
// as in use at once: beyond it the oldest no longer keeps its sandbox awake.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "agent/service/file_tickets.h"
#include "common/limits.h"
#include "common/unique_fd.h"

namespace sandkeep {

class DescriptorConnection;

class DescriptorServer {
 public:
  explicit DescriptorServer(boost::asio::any_io_executor executor)
      : executor_(std::move(executor)) {}
  // Ends every connection.
  ~DescriptorServer();

  // A connection of the peer that `tickets` are of. From any thread.
  void Serve(UniqueFd connection, std::shared_ptr<FileTickets> tickets);

 private:
  const boost::asio::any_io_executor executor_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<DescriptorConnection>> connections_;
};

}  // namespace sandkeep
