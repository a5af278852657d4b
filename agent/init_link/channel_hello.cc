// The hello: an agent's first words to an init that may be older than itself.

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/init_link/channel.h"
#include "agent/init_link/frames.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using init::v1::FromInit;
using init::v1::ToInit;

// Linux 6.16: refuses descriptors before they are queued, so that no stranger's close() can hold us
// up. Where it isn't known, they are closed on arrival.
constexpr int kSoPassRights = 83;

absl::StatusOr<UniqueFd> TakeFrom(const UniqueFd& pidfd, int number) {
  if (number < 0) return UniqueFd();
  UniqueFd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd.get(), number, 0)));
  if (taken) return taken;
  if (errno == EBADF) return InitLied("named a descriptor that it doesn't have");
  return ErrnoStatus(errno, "pidfd_getfd");
}

}  // namespace

absl::Status Channel::Open() {
  ASSIGN_OR_RETURN(socket_, FrameSocket::Adopt(std::move(channel_)));
  const int off = 0;
  ::setsockopt(socket_->fd(), SOL_SOCKET, kSoPassRights, &off, sizeof(off));
  boost::system::error_code error;
  descriptor_.assign(socket_->fd(), error);
  if (error) return ErrnoStatus(error.value(), "watching init's channel");
  return absl::OkStatus();
}

// What an earlier agent left unread is unread for good: HelloReply says all that still matters.
absl::Status Channel::DrainStale() {
  for (int i = 0; i < kMaxStaleInitFrames; ++i) {
    const absl::Status status = socket_->Receive().status();
    if (absl::IsResourceExhausted(status)) return absl::OkStatus();
    if (!status.ok()) return status;
  }
  return InitLied("had more to say than a queue holds");
}

Async<std::vector<InitJob>> Channel::Hello() {
  auto self = shared_from_this();
  if (phase_ != Phase::kNew) co_return absl::FailedPreconditionError("hello was said before");
  CO_RETURN_IF_ERROR(Open());
  CO_RETURN_IF_ERROR(DrainStale());

  ToInit message;
  message.mutable_hello()->set_version(init::v1::V1);
  message.mutable_hello()->set_epoch(epoch_);
  CO_RETURN_IF_ERROR(Send(OneFrame(message)));
  phase_ = Phase::kGreeting;
  greeting_.expires_after(hello_deadline_);
  WaitReadable();
  // Ends at the deadline, by the end of the greeting, or by the caller's cancellation.
  co_await greeting_.async_wait(asio::as_tuple(asio::use_awaitable));

  if (phase_ == Phase::kGreeted) co_return TakeJobs();
  absl::Status why = broken_;
  if (why.ok()) why = absl::DeadlineExceededError("init didn't answer");
  Close();
  phase_ = Phase::kClosed;
  co_return why;
}

absl::StatusOr<std::vector<InitJob>> Channel::TakeJobs() {
  std::vector<InitJob> jobs;
  for (const init::v1::JobState& state : named_) {
    ASSIGN_OR_RETURN(JobId id, jobs_.Adopt(state));
    InitJob job{.id = std::move(id),
                .exited = state.exited(),
                .wait_status = state.wait_status(),
                .gone = state.gone(),
                .exited_ago = {},
                .stdout_pipe = {},
                .stderr_pipe = {},
                .stdin_pipe = {}};
    job.exited_ago = std::chrono::milliseconds(state.exited_ms_ago());
    ASSIGN_OR_RETURN(job.stdout_pipe, TakeFrom(pidfd_, state.stdout_fd()));
    ASSIGN_OR_RETURN(job.stderr_pipe, TakeFrom(pidfd_, state.stderr_fd()));
    ASSIGN_OR_RETURN(job.stdin_pipe, TakeFrom(pidfd_, state.stdin_fd()));
    jobs.push_back(std::move(job));
  }
  named_.clear();
  return jobs;
}

absl::Status Channel::Greeted(const FromInit& message) {
  if (!message.has_hello() || message.hello().epoch() != epoch_) {
    // Of an earlier agent's time, sent while we were on our way.
    if (!named_.empty()) return InitLied("broke off its list of jobs");
    if (++stale_ > kMaxStaleInitFrames) return InitLied("had more to say than a queue holds");
    return absl::OkStatus();
  }
  const init::v1::HelloReply& reply = message.hello();
  if (reply.version() != init::v1::V1) {
    return absl::FailedPreconditionError(
        StrCat("this sandbox's init speaks version ", static_cast<int>(reply.version()),
               " of its protocol, this agent version ", static_cast<int>(init::v1::V1),
               ": remove the sandbox, its files stay"));
  }
  for (const init::v1::JobState& state : reply.jobs()) named_.push_back(state);
  if (named_.size() > kMaxInitJobs) return InitLied("named more jobs than it may have");
  if (reply.more()) {
    if (reply.jobs().empty()) return InitLied("promised jobs and named none");
    return absl::OkStatus();
  }
  if (reply.dropped_frames() > 0) {
    Log(Severity::kWarning, "init.dropped_frames", {{"count", reply.dropped_frames()}});
  }
  phase_ = Phase::kGreeted;
  greeting_.cancel();
  return absl::OkStatus();
}

}  // namespace sandkeep
