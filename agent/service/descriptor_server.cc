#include "agent/service/descriptor_server.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/async.h"
#include "common/descriptor_frame.h"
#include "common/frame_socket.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

// Frames of one connection that are answered before others have their turn.
constexpr int kFramesATurn = 64;

// What was handed over and keeps its sandbox awake, the oldest first.
class Handed {
 public:
  void Add(std::string ticket, std::shared_ptr<void> hold) {
    holds_.push_back({std::move(ticket), std::move(hold)});
    places_.insert_or_assign(holds_.back().ticket, std::prev(holds_.end()));
    if (holds_.size() > kMaxFilesHanded) Remove(std::string(holds_.front().ticket));
  }
  void Remove(const std::string& ticket) {
    const auto found = places_.find(ticket);
    if (found == places_.end()) return;
    holds_.erase(found->second);
    places_.erase(found);
  }

 private:
  struct Held {
    std::string ticket;
    std::shared_ptr<void> hold;
  };

  std::list<Held> holds_;
  absl::flat_hash_map<std::string, std::list<Held>::iterator> places_;
};

}  // namespace

class DescriptorConnection : public std::enable_shared_from_this<DescriptorConnection> {
 public:
  DescriptorConnection(asio::any_io_executor strand, FrameSocket socket,
                       std::shared_ptr<FileTickets> tickets)
      : strand_(std::move(strand)),
        socket_(std::move(socket)),
        readiness_(strand_, ::fcntl(socket_.fd(), F_DUPFD_CLOEXEC, 0)),
        tickets_(std::move(tickets)) {}

  void Start() { sandkeep::Spawn(strand_, "descriptors.serve", Run(shared_from_this())); }

  // From any thread.
  void Close() {
    asio::post(strand_, [self = shared_from_this()] { self->End(); });
  }

 private:
  static asio::awaitable<void> Run(std::shared_ptr<DescriptorConnection> self) {
    absl::Status served;
    while (served.ok() && self->open_) {
      co_await self->WaitFor(asio::posix::descriptor_base::wait_read);
      auto serving = self->ServeSome();
      served = co_await std::move(serving);
    }
    if (absl::IsInvalidArgument(served))
      Log(Severity::kWarning, "descriptors.cut", {{"why", served}});
    self->End();
  }

  Async<void> ServeSome() {
    for (int i = 0; i < kFramesATurn && open_; ++i) {
      absl::StatusOr<Frame> frame = socket_.Receive();
      if (absl::IsResourceExhausted(frame.status())) co_return absl::OkStatus();
      CO_RETURN_IF_ERROR(frame.status());
      auto serving = ServeOne(std::move(*frame));
      CO_RETURN_IF_ERROR(co_await std::move(serving));
    }
    co_return absl::OkStatus();
  }

  Async<void> ServeOne(Frame frame) {
    std::optional<DescriptorFrame> asked = DescriptorFrame::Parse(frame.bytes);
    if (!asked.has_value() || !frame.descriptors.empty()) {
      co_return absl::InvalidArgumentError("a frame that is none");
    }
    if (asked->word == DescriptorWord::kDone) {
      handed_.Remove(asked->ticket);
      co_return absl::OkStatus();
    }
    if (asked->word != DescriptorWord::kTake) co_return absl::InvalidArgumentError("an answer");
    std::optional<FileTickets::Opened> opened = tickets_->Take(asked->ticket);
    if (!opened.has_value()) {
      asked->word = DescriptorWord::kNone;
      auto refusing = Send(asked->Text(), UniqueFd());
      co_return co_await std::move(refusing);
    }
    handed_.Add(asked->ticket, std::move(opened->hold));
    asked->word = DescriptorWord::kFile;
    auto handing = Send(asked->Text(), std::move(opened->file));
    co_return co_await std::move(handing);
  }

  Async<void> Send(std::string frame, UniqueFd file) {
    const int number = file.get();
    const auto descriptors = file ? absl::MakeConstSpan(&number, 1) : absl::Span<const int>();
    while (open_) {
      const absl::Status sent = socket_.Send(frame, descriptors);
      if (!absl::IsResourceExhausted(sent)) co_return sent;
      co_await WaitFor(asio::posix::descriptor_base::wait_write);
    }
    co_return absl::UnavailableError("the connection ended");
  }

  asio::awaitable<void> WaitFor(asio::posix::descriptor_base::wait_type what) {
    co_await readiness_.async_wait(what, asio::as_tuple(asio::use_awaitable));
  }

  void End() {
    if (!std::exchange(open_, false)) return;
    // The listener's own descriptor would keep it open.
    ::shutdown(socket_.fd(), SHUT_RDWR);
    boost::system::error_code ignored;
    readiness_.close(ignored);
    socket_.Release();
    handed_ = Handed();
  }

  const asio::any_io_executor strand_;
  FrameSocket socket_;
  asio::posix::stream_descriptor readiness_;  // A duplicate, to wait on.
  const std::shared_ptr<FileTickets> tickets_;
  Handed handed_;
  bool open_ = true;
};

DescriptorServer::~DescriptorServer() {
  for (const auto& weak : connections_) {
    if (const auto connection = weak.lock()) connection->Close();
  }
}

void DescriptorServer::Serve(UniqueFd connection, std::shared_ptr<FileTickets> tickets) {
  absl::StatusOr<FrameSocket> socket = FrameSocket::Adopt(std::move(connection));
  if (!socket.ok()) {
    Log(Severity::kWarning, "descriptors.cut", {{"why", socket.status()}});
    return;
  }
  std::shared_ptr<DescriptorConnection> made;
  try {
    made = std::make_shared<DescriptorConnection>(asio::make_strand(executor_), *std::move(socket),
                                                  std::move(tickets));
  } catch (const boost::system::system_error& error) {
    // No descriptor is left to wait with. The peer finds a closed connection, and streams.
    Log(Severity::kWarning, "descriptors.cut", {{"why", error.what()}});
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    connections_.push_back(made);
  }
  made->Start();
}

}  // namespace sandkeep
