// A command's stdin: what waits to be written to it, bounded, without ever blocking. On the
// sandbox's strand. Held by its job; Stop ends it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/unique_fd.h"

namespace sandkeep {

class Input : public std::enable_shared_from_this<Input> {
 public:
  Input(boost::asio::any_io_executor strand, UniqueFd pipe);
  ~Input();

  // Writes what the pipe takes and keeps the rest; with `end` closes the pipe after it.
  // ResourceExhausted: the command doesn't read, nothing was taken. FailedPrecondition: closed.
  absl::Status Write(std::string data, bool end);

  // What isn't written yet is dropped.
  void Stop();

  // What the pipe hasn't taken yet.
  std::size_t pending() const { return bytes_; }
  bool open() const { return pipe_.valid() && !ending_; }

 private:
  void Flush();
  // False: the pipe is full or gone.
  bool WriteSome();
  void Wait();

  boost::asio::posix::stream_descriptor waiter_;
  UniqueFd pipe_;
  std::deque<std::string> waiting_;
  std::size_t bytes_ = 0;    // In waiting_, less what is written of its first.
  std::size_t written_ = 0;  // Of waiting_'s first.
  bool ending_ = false;
  bool armed_ = false;
};

}  // namespace sandkeep
