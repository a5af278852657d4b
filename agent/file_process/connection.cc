#include "agent/file_process/connection.h"

#include <fcntl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/file_process/channel_fd.h"
#include "agent/runtime/subordinate_ids.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using files::v1::Reply;
using files::v1::Request;

// The unasked Pong that says: here is a user namespace to map.
constexpr std::uint64_t kHelloId = 0;

// Maps the subordinate range and nothing else: no id of the agent's exists in there.
Async<void> MapRange(std::string tool, std::string subordinate_file, pid_t pid) {
  CO_ASSIGN_OR_RETURN(const SubordinateRange range, OwnSubordinateIds(subordinate_file));
  ProcessCommand command{
      tool, {StrCat(pid), "0", StrCat(range.start), StrCat(range.count)}, {"LC_ALL=C"}};
  auto result = co_await RunProcess(std::move(command), kFileProcessStartDeadline);
  if (absl::IsNotFound(result.status())) {
    co_return absl::FailedPreconditionError(
        StrCat(tool, " is missing: install it (apt-get install uidmap)"));
  }
  CO_RETURN_IF_ERROR(result.status());
  if (result->succeeded()) co_return absl::OkStatus();
  co_return absl::UnavailableError(StrCat(tool, ": ", result->Summary()));
}

}  // namespace

FileConnection::FileConnection(Strand strand, FrameSocket socket, StartedProcess process)
    : strand_(std::move(strand)),
      socket_(std::move(socket)),
      readiness_(strand_, ::fcntl(socket_.fd(), F_DUPFD_CLOEXEC, 0)),
      process_(std::move(process)) {}

Async<std::shared_ptr<FileConnection>> FileConnection::Open(Strand strand,
                                                            FileProcessOptions options) {
  CO_ASSIGN_OR_RETURN(auto ends, FrameSocket::Pair());
  const PassedDescriptor passed{ends.second.fd(), kFileProcessChannelFd};
  ProcessCommand command{options.program, {}, {"LC_ALL=C"}};
  auto process = StartProcess(command, absl::MakeConstSpan(&passed, 1));
  if (absl::IsNotFound(process.status())) {
    co_return absl::FailedPreconditionError(
        StrCat("sandkeep-files isn't at ", options.program, ": set FILES_PATH"));
  }
  CO_RETURN_IF_ERROR(process.status());
  auto self = std::make_shared<FileConnection>(strand, std::move(ends.first), *std::move(process));
  // Its death must end the channel.
  ends.second.Release();

  auto hello = std::make_shared<Waiter>(strand);
  self->waiters_.emplace(kHelloId, hello);
  sandkeep::Spawn(strand, "files.read", Read(self));
  absl::Status ready = (co_await self->Await(kHelloId, std::move(hello))).status();
  if (ready.ok()) ready = co_await self->MapIds(std::move(options));
  if (ready.ok()) {
    Request ping;
    ping.mutable_ping();
    ready = (co_await self->Call(std::move(ping))).status();
  }
  if (ready.ok()) co_return self;
  self->Close(ready);
  co_return ready;
}

Async<void> FileConnection::MapIds(FileProcessOptions options) {
  CO_RETURN_IF_ERROR(co_await MapRange(options.newuidmap, options.subuid_file, process_.pid));
  co_return co_await MapRange(options.newgidmap, options.subgid_file, process_.pid);
}

void FileConnection::Close(const absl::Status& why) {
  if (!std::exchange(alive_, false)) return;
  if (!absl::IsCancelled(why)) Log(Severity::kWarning, "files.ended", {{"why", why}});
  boost::system::error_code ignored;
  readiness_.close(ignored);
  socket_.Release();
  EndProcess(strand_, std::move(process_));
  auto waiters = std::exchange(waiters_, {});
  for (auto& [id, waiter] : waiters) {
    Finish(*waiter, absl::UnavailableError("the file process ended; try again"));
  }
}

void FileConnection::Finish(Waiter& waiter, absl::Status status) {
  waiter.done = true;
  waiter.status = std::move(status);
  waiter.timer.cancel();
}

// ---- In ----

asio::awaitable<void> FileConnection::Read(std::shared_ptr<FileConnection> self) {
  while (self->alive_) {
    const absl::Status received = self->Receive();
    if (received.ok()) continue;
    if (!absl::IsResourceExhausted(received)) {
      self->Close(received);
      break;
    }
    co_await self->readiness_.async_wait(asio::posix::descriptor_base::wait_read,
                                         asio::as_tuple(asio::use_awaitable));
  }
}

absl::Status FileConnection::Receive() {
  ASSIGN_OR_RETURN(Frame frame, socket_.Receive());
  return Dispatch(std::move(frame));
}

absl::Status FileConnection::Dispatch(Frame frame) {
  Reply reply;
  if (!reply.ParseFromString(frame.bytes)) return absl::DataLossError("a reply doesn't parse");
  const auto found = waiters_.find(reply.id());
  if (found == waiters_.end()) return absl::DataLossError("a reply to nothing");
  Waiter& waiter = *found->second;
  if (frame.descriptors.size() > 1) return absl::DataLossError("a reply with many descriptors");
  if (!frame.descriptors.empty()) waiter.answer.file = std::move(frame.descriptors.front());
  const bool more = reply.has_entries() && reply.entries().more();
  waiter.answer.reply.MergeFrom(reply);
  if (waiter.answer.reply.entries().entries_size() > kMaxListEntries) {
    return absl::DataLossError("a reply without end");
  }
  if (more) return absl::OkStatus();
  Finish(waiter, absl::OkStatus());
  waiters_.erase(found);
  return absl::OkStatus();
}

// ---- Out ----

Async<void> FileConnection::Send(std::string frame, UniqueFd descriptor) {
  const int number = descriptor.get();
  const auto descriptors = descriptor ? absl::MakeConstSpan(&number, 1) : absl::Span<const int>();
  const std::shared_ptr<FileConnection> self = shared_from_this();
  while (alive_) {
    absl::Status sent = socket_.Send(frame, descriptors);
    if (!absl::IsResourceExhausted(sent)) co_return sent;
    co_await readiness_.async_wait(asio::posix::descriptor_base::wait_write,
                                   asio::as_tuple(asio::use_awaitable));
  }
  co_return absl::UnavailableError("the file process ended; try again");
}

Async<FileAnswer> FileConnection::Await(std::uint64_t id, std::shared_ptr<Waiter> waiter) {
  const std::shared_ptr<FileConnection> self = shared_from_this();
  if (!waiter->done) {
    waiter->timer.expires_after(kFileCallDeadline);
    co_await waiter->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (!waiter->done) {
    // Its answer, should it still come, must meet no later call.
    waiters_.erase(id);
    Close(absl::DeadlineExceededError("silent for too long"));
    co_return absl::UnavailableError("the file process didn't answer; try again");
  }
  CO_RETURN_IF_ERROR(waiter->status);
  waiter->answer.from = self;
  co_return std::move(waiter->answer);
}

Async<FileAnswer> FileConnection::Call(Request request, UniqueFd descriptor) {
  if (!alive_) co_return absl::UnavailableError("the file process ended; try again");
  if (waiters_.size() >= kMaxFileCalls) {
    co_return absl::ResourceExhaustedError("too many files are being opened; try again");
  }
  const std::uint64_t id = next_id_++;
  request.set_id(id);
  auto waiter = std::make_shared<Waiter>(strand_);
  waiters_.emplace(id, waiter);
  const absl::Status sent = co_await Send(request.SerializeAsString(), std::move(descriptor));
  if (!sent.ok()) {
    waiters_.erase(id);
    Close(sent);
    co_return absl::UnavailableError("the file process ended; try again");
  }
  co_return co_await Await(id, std::move(waiter));
}

}  // namespace sandkeep
