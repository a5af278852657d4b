#include "agent/client/descriptor_door.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/descriptor_frame.h"
#include "common/frame_socket.h"
#include "common/limits.h"
#include "common/pending.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;
using Answer = absl::StatusOr<UniqueFd>;

absl::StatusOr<FrameSocket> ConnectTo(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::UnavailableError(StrCat("too long a path for a socket: ", path));
  }
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return ErrnoStatus(errno, "socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError(StrCat(path, ": ", ErrnoStatus(errno, "connect").message()));
  }
  return FrameSocket::Adopt(std::move(socket));
}

}  // namespace

// The connection, if there is one, and who waits for what. Every member is of mutex_, but for the
// waiting on the socket, which is of the strand.
class DescriptorDoor::Line : public std::enable_shared_from_this<DescriptorDoor::Line> {
 public:
  Line(const asio::any_io_executor& executor, std::string path)
      : strand_(asio::make_strand(executor)), path_(std::move(path)) {}

  bool open() const {
    const std::lock_guard lock(mutex_);
    return !closed_ && (connection_ != nullptr || Steady::now() >= shut_until_);
  }

  std::shared_ptr<Pending<Answer>> Ask(const std::string& ticket) {
    auto pending = std::make_shared<Pending<Answer>>();
    const std::lock_guard lock(mutex_);
    absl::Status asked = Connect();
    if (asked.ok()) {
      waiters_.insert_or_assign(ticket, pending);
      asked = Send({DescriptorWord::kTake, ticket});
    }
    if (!asked.ok()) {
      waiters_.erase(ticket);
      pending->Deliver(asked);
    }
    return pending;
  }

  // Its answer, should it still come, is closed.
  void Forget(const std::string& ticket) {
    const std::lock_guard lock(mutex_);
    waiters_.erase(ticket);
  }

  void Done(const std::string& ticket) {
    const std::lock_guard lock(mutex_);
    if (connection_ != nullptr) Send({DescriptorWord::kDone, ticket}).IgnoreError();
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    Drop(absl::CancelledError("the client is gone"), std::chrono::milliseconds(0));
  }

 private:
  struct Connection {
    Connection(const asio::any_io_executor& strand, FrameSocket frames)
        : socket(std::move(frames)),
          readiness(strand, ::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0)),
          room(strand, ::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0)) {}
    FrameSocket socket;
    // Duplicates, to wait on.
    asio::posix::stream_descriptor readiness;
    asio::posix::stream_descriptor room;
    std::deque<std::string> unsent;
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  absl::Status Connect() {
    if (closed_) return absl::CancelledError("the client is gone");
    if (connection_ != nullptr) return absl::OkStatus();
    if (Steady::now() < shut_until_) return shut_why_;
    absl::StatusOr<FrameSocket> socket = ConnectTo(path_);
    if (!socket.ok()) {
      Shut(socket.status(), kDoorPause);
      return socket.status();
    }
    connection_ = std::make_shared<Connection>(strand_, *std::move(socket));
    sandkeep::Spawn(strand_, "descriptors.read", Read(shared_from_this(), connection_));
    return absl::OkStatus();
  }

  absl::Status Send(const DescriptorFrame& frame) {
    std::deque<std::string>& unsent = connection_->unsent;
    if (unsent.size() >= kMaxWaitingFrames)
      return absl::UnavailableError("the agent takes nothing");
    unsent.push_back(frame.Text());
    if (unsent.size() > 1) return absl::OkStatus();
    absl::Status sent = SendUnsent(*connection_);
    if (!absl::IsResourceExhausted(sent)) return sent;
    sandkeep::Spawn(strand_, "descriptors.send", Flush(shared_from_this(), connection_));
    return absl::OkStatus();
  }

  // A dead connection is for its reader to find.
  static absl::Status SendUnsent(Connection& connection) {
    while (!connection.unsent.empty()) {
      const absl::Status sent = connection.socket.Send(connection.unsent.front());
      if (absl::IsResourceExhausted(sent)) return sent;
      connection.unsent.pop_front();
    }
    return absl::OkStatus();
  }

  static asio::awaitable<void> Flush(std::shared_ptr<Line> self, ConnectionPtr connection) {
    for (bool full = true; full;) {
      co_await connection->room.async_wait(asio::posix::descriptor_base::wait_write,
                                           asio::as_tuple(asio::use_awaitable));
      const std::lock_guard lock(self->mutex_);
      full = self->connection_ == connection && !SendUnsent(*connection).ok();
    }
  }

  static asio::awaitable<void> Read(std::shared_ptr<Line> self, ConnectionPtr connection) {
    absl::Status received;
    while (received.ok()) {
      co_await connection->readiness.async_wait(asio::posix::descriptor_base::wait_read,
                                                asio::as_tuple(asio::use_awaitable));
      received = self->ReceiveAll(connection);
    }
  }

  absl::Status ReceiveAll(const ConnectionPtr& connection) {
    const std::lock_guard lock(mutex_);
    if (connection != connection_) return absl::CancelledError("dropped");
    for (;;) {
      absl::StatusOr<Frame> frame = connection->socket.Receive();
      if (absl::IsResourceExhausted(frame.status())) return absl::OkStatus();
      // What the kernel cuts off from a frame as short as ours is its descriptor.
      const bool cut = absl::IsDataLoss(frame.status());
      absl::Status received = cut ? NoneComesIn() : frame.status();
      if (received.ok()) received = Dispatch(*std::move(frame));
      if (received.ok()) continue;
      Drop(received, absl::IsPermissionDenied(received) ? kRefusedDoorPause : kDoorPause);
      return received;
    }
  }

  static absl::Status NoneComesIn() {
    return absl::PermissionDeniedError("this machine lets no descriptor of the agent's in");
  }

  absl::Status Dispatch(Frame frame) {
    const std::optional<DescriptorFrame> answer = DescriptorFrame::Parse(frame.bytes);
    if (!answer.has_value()) return absl::UnavailableError("the agent sent what is no frame");
    if (answer->word == DescriptorWord::kFile && frame.descriptors.size() != 1)
      return NoneComesIn();
    auto found = waiters_.extract(answer->ticket);
    if (answer->word != DescriptorWord::kFile) {
      if (!found.empty()) found.mapped()->Deliver(absl::NotFoundError("no such ticket"));
      return absl::OkStatus();
    }
    if (found.empty()) return Send({DescriptorWord::kDone, answer->ticket});
    found.mapped()->Deliver(std::move(frame.descriptors.front()));
    return absl::OkStatus();
  }

  void Shut(const absl::Status& why, std::chrono::milliseconds pause) {
    shut_why_ = why;
    shut_until_ = Steady::now() + pause;
  }

  void Drop(const absl::Status& why, std::chrono::milliseconds pause) {
    Shut(why, pause);
    for (auto& [ticket, waiter] : std::exchange(waiters_, {})) waiter->Deliver(why);
    if (connection_ == nullptr) return;
    // Ends the waiting, on whose thread the rest is closed.
    ::shutdown(connection_->socket.fd(), SHUT_RDWR);
    connection_.reset();
  }

  const asio::any_io_executor strand_;
  const std::string path_;

  mutable std::mutex mutex_;
  ConnectionPtr connection_;
  absl::flat_hash_map<std::string, std::shared_ptr<Pending<Answer>>> waiters_;
  Steady::time_point shut_until_ = Steady::time_point::min();
  absl::Status shut_why_;
  bool closed_ = false;
};

DescriptorDoor::DescriptorDoor(const asio::any_io_executor& executor,
                               const std::string& api_socket_path)
    : line_(std::make_shared<Line>(executor, DescriptorSocketPath(api_socket_path))) {}

DescriptorDoor::~DescriptorDoor() { line_->Close(); }

bool DescriptorDoor::open() const { return line_->open(); }

Async<UniqueFd> DescriptorDoor::Fetch(std::string ticket) {
  const std::shared_ptr<Line> line = line_;
  const auto pending = line->Ask(ticket);
  std::function<void()> forget = [line, ticket] { line->Forget(ticket); };
  auto waiting = pending->Take(absl::DeadlineExceededError("the agent hands nothing over"),
                               std::move(forget), Steady::now() + kFetchDeadline);
  co_return co_await std::move(waiting);
}

void DescriptorDoor::Done(const std::string& ticket) { line_->Done(ticket); }

}  // namespace sandkeep
