// One running sandkeep-files and the channel to it: starts it, has its ids mapped, matches replies
// to requests. When it dies, lies or is silent too long it is ended, and every call under way
// answers Unavailable; the next one is for a new connection. Lives on one strand: every call comes
// from there.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/file_process/file_process.h"
#include "agent/runtime/process.h"
#include "common/async.h"
#include "common/frame_socket.h"
#include "common/unique_fd.h"
#include "sandkeep/files/v1/files.pb.h"

namespace sandkeep {

class FileConnection;

// To be awaited before all else by a coroutine that calls on behalf of a caller who may leave: a
// wait that is aborted looks like a process that is silent, and would end it for everybody.
inline auto Uncancelled() {
  return boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

// What came back for one request: one reply, or the parts of a long one joined.
struct FileAnswer {
  files::v1::Reply reply;
  UniqueFd file;
  // Who said it: handles are of one process.
  std::shared_ptr<FileConnection> from;
};

class FileConnection : public std::enable_shared_from_this<FileConnection> {
 public:
  using Strand = boost::asio::strand<boost::asio::any_io_executor>;

  // Ready to serve. FailedPrecondition with the remedy: this host can't; else Unavailable.
  static Async<std::shared_ptr<FileConnection>> Open(Strand strand, FileProcessOptions options);

  // An answer with an error in it is an answer. ResourceExhausted: too many calls under way.
  Async<FileAnswer> Call(files::v1::Request request, UniqueFd descriptor = UniqueFd());

  bool alive() const { return alive_; }
  void Close(const absl::Status& why);

  FileConnection(Strand strand, FrameSocket socket, StartedProcess process);

 private:
  struct Waiter {
    explicit Waiter(const Strand& strand) : timer(strand) {}
    boost::asio::steady_timer timer;
    bool done = false;
    absl::Status status;
    FileAnswer answer;
  };

  static boost::asio::awaitable<void> Read(std::shared_ptr<FileConnection> self);
  absl::Status Receive();
  absl::Status Dispatch(Frame frame);
  Async<void> MapIds(FileProcessOptions options);
  Async<void> Send(std::string frame, UniqueFd descriptor);
  Async<FileAnswer> Await(std::uint64_t id, std::shared_ptr<Waiter> waiter);
  static void Finish(Waiter& waiter, absl::Status status);

  const Strand strand_;
  FrameSocket socket_;
  boost::asio::posix::stream_descriptor readiness_;  // A duplicate, to wait on.
  StartedProcess process_;
  bool alive_ = true;
  std::uint64_t next_id_ = 1;
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<Waiter>> waiters_;
};

}  // namespace sandkeep
