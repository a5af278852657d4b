// Tells when connections end that somebody else reads and writes. Each is watched through a
// descriptor of its own, in an epoll set that asks for nothing but the hang-up: traffic wakes
// nobody here. Owned by the listener and used on its strand.
//
// gRPC shuts a socket down when it closes it, so the end is seen whichever side made it.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

class HangupWatch : public std::enable_shared_from_this<HangupWatch> {
 public:
  static absl::StatusOr<std::shared_ptr<HangupWatch>> Make(boost::asio::any_io_executor strand);

  // `ended` is called once, on the strand, unless Stop comes first. ResourceExhausted: no
  // descriptors.
  absl::Status Add(int connection, std::function<void()> ended);
  void Stop();

 private:
  struct Watched {
    UniqueFd connection;
    std::function<void()> ended;
  };

  HangupWatch(boost::asio::any_io_executor strand, int epoll) : epoll_(strand, epoll) {}
  void WaitForNext();
  void Collect();

  boost::asio::posix::stream_descriptor epoll_;
  std::unordered_map<int, Watched> watched_;
};

}  // namespace sandkeep
