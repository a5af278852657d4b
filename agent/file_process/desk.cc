#include "agent/file_process/desk.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/file_process/file_error.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {

namespace asio = boost::asio;
using files::v1::Request;

namespace {

// One caller does what the others wait for, until the turn goes, however that comes.
class Turn {
 public:
  Turn(bool& taken, asio::steady_timer& over) : taken_(taken), over_(over) { taken_ = true; }
  ~Turn() {
    taken_ = false;
    over_.cancel();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  bool& taken_;
  asio::steady_timer& over_;
};

}  // namespace

Async<std::shared_ptr<FileConnection>> FileDesk::Connected() {
  const bool waited = starting_;
  while (starting_) co_await started_.async_wait(asio::as_tuple(asio::use_awaitable));
  // All who waited for a start share its failure.
  if (waited && !start_failure_.ok()) co_return start_failure_;
  if (connection_ != nullptr && connection_->alive()) co_return connection_;
  connection_ = nullptr;
  volumes_.clear();
  const Turn turn(starting_, started_);
  auto opened = co_await FileConnection::Open(strand_, options_);
  if (opened.ok()) connection_ = *opened;
  start_failure_ = opened.status();
  co_return opened;
}

asio::awaitable<void> FileDesk::Forget(std::shared_ptr<FileConnection> connection,
                                       std::uint64_t handle) {
  Request request;
  request.mutable_drop_volume()->set_volume(handle);
  // Should it fail, the process is gone, and the volume with it.
  (co_await connection->Call(std::move(request))).IgnoreError();
}

Async<void> FileDesk::MakeRoom(std::shared_ptr<FileConnection> connection) {
  // Half of what the process takes: those that Drop lets go are still its for a moment.
  while (volumes_.size() >= kMaxFileProcessVolumes / 2) {
    const auto oldest = std::min_element(
        volumes_.begin(), volumes_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    const std::uint64_t handle = oldest->second.handle;
    volumes_.erase(oldest);
    co_await Forget(connection, handle);
  }
  co_return absl::OkStatus();
}

std::optional<std::uint64_t> FileDesk::KnownHandle(const EngineName& volume) {
  const auto known = volumes_.find(volume);
  if (known == volumes_.end()) return std::nullopt;
  known->second.used = ++uses_;
  return known->second.handle;
}

Async<std::uint64_t> FileDesk::AddVolume(std::shared_ptr<FileConnection> connection,
                                         EngineName volume) {
  CO_ASSIGN_OR_RETURN(UniqueFd folder, co_await opener_(volume));
  CO_RETURN_IF_ERROR(co_await MakeRoom(connection));
  const std::uint64_t handle = next_handle_++;
  Request request;
  request.mutable_add_volume()->set_volume(handle);
  CO_ASSIGN_OR_RETURN(const FileAnswer added,
                      co_await connection->Call(std::move(request), std::move(folder)));
  if (added.reply.error() != 0) co_return FileError(added.reply.error(), "");
  if (connection != connection_) {
    co_return absl::UnavailableError("the file process ended; try again");
  }
  volumes_.emplace(volume, Volume{handle, ++uses_});
  co_return handle;
}

Async<std::uint64_t> FileDesk::HandleOf(std::shared_ptr<FileConnection> connection,
                                        EngineName volume) {
  // One is added at a time: a hundred calls for a new volume add it once.
  while (adding_ && !volumes_.contains(volume)) {
    co_await added_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (const auto handle = KnownHandle(volume)) co_return *handle;
  const Turn turn(adding_, added_);
  co_return co_await AddVolume(std::move(connection), std::move(volume));
}

Async<FileAnswer> FileDesk::Answer(EngineName volume, RelPath path, Details details, Ask ask) {
  const std::shared_ptr<FileDesk> self = shared_from_this();
  CO_ASSIGN_OR_RETURN(const auto connection, co_await Connected());
  CO_ASSIGN_OR_RETURN(const std::uint64_t handle, co_await HandleOf(connection, volume));
  Request request;
  ask(request, handle, path.bytes(), details);
  CO_ASSIGN_OR_RETURN(FileAnswer answer, co_await connection->Call(std::move(request)));
  if (answer.reply.error() != 0) co_return FileError(answer.reply.error(), path.bytes());
  co_return answer;
}

void FileDesk::Drop(const EngineName& volume) {
  const auto known = volumes_.find(volume);
  if (known == volumes_.end()) return;
  const std::uint64_t handle = known->second.handle;
  volumes_.erase(known);
  if (connection_ == nullptr || !connection_->alive()) return;
  sandkeep::Spawn(strand_, "files.forget", Forget(connection_, handle));
}

void FileDesk::Close() {
  if (connection_ != nullptr) connection_->Close(absl::CancelledError("the agent is done"));
}

absl::Status FileDesk::Distrust(const absl::Status& why) {
  if (connection_ != nullptr) connection_->Close(why);
  return absl::UnavailableError("the file process was at fault; try again");
}

}  // namespace sandkeep
