#include "agent/init_link/channel.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "agent/init_link/frames.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace asio = boost::asio;
using boost::system::error_code;
using init::v1::FromInit;
using init::v1::ToInit;

absl::Status InitLied(std::string_view what) { return absl::DataLossError(StrCat("init ", what)); }

void Channel::Listen() {
  if (phase_ != Phase::kGreeted) return;
  phase_ = Phase::kListening;
  WaitReadable();
}

void Channel::Release() {
  if (descriptor_.is_open()) descriptor_.release();
  socket_.reset();
  greeting_.cancel();
  phase_ = Phase::kClosed;
}

// Posted, so that no event comes from inside a call of the caller's.
void Channel::Break(absl::Status why) {
  if (phase_ == Phase::kClosed) return;
  const bool told = phase_ == Phase::kListening || phase_ == Phase::kGreeted;
  broken_ = why;
  Release();
  if (!told) return;
  asio::post(strand_, [self = shared_from_this(), why = std::move(why)]() {
    if (InitEvents* events = std::exchange(self->events_, nullptr)) events->OnBroken(why);
  });
}

absl::Status Channel::Send(std::vector<OutFrame> frames) {
  if (phase_ == Phase::kClosed) return absl::UnavailableError("the sandbox's init is gone");
  RETURN_IF_ERROR(outbox_.Add(std::move(frames)));
  if (writing_) return absl::OkStatus();
  if (const absl::Status sent = outbox_.Flush(*socket_); !sent.ok()) {
    Break(sent);
    return sent;
  }
  if (!outbox_.empty()) WaitWritable();
  return absl::OkStatus();
}

void Channel::WaitWritable() {
  writing_ = true;
  auto writable = [self = shared_from_this()](error_code error) {
    self->writing_ = false;
    if (error || self->phase_ == Phase::kClosed) return;
    const absl::Status sent = self->outbox_.Flush(*self->socket_);
    if (!sent.ok()) return self->Break(sent);
    if (!self->outbox_.empty()) self->WaitWritable();
  };
  descriptor_.async_wait(asio::posix::descriptor_base::wait_write, std::move(writable));
}

void Channel::WaitReadable() {
  auto readable = [self = shared_from_this()](error_code error) {
    if (!error) self->ReadTurn();
  };
  descriptor_.async_wait(asio::posix::descriptor_base::wait_read, std::move(readable));
}

void Channel::ReadTurn() {
  if (!reading()) return;
  bool more = false;
  if (const absl::Status status = Receive(kInitFramesPerTurn, &more); !status.ok()) {
    return Break(status);
  }
  if (!reading()) return;
  if (!more) return WaitReadable();
  asio::post(strand_, [self = shared_from_this()]() { self->ReadTurn(); });
}

absl::Status Channel::Receive(int limit, bool* more) {
  for (int i = 0; i < limit && reading(); ++i) {
    absl::StatusOr<Frame> frame = socket_->Receive();
    if (absl::IsResourceExhausted(frame.status())) return absl::OkStatus();
    if (!frame.ok()) return frame.status();
    RETURN_IF_ERROR(Handle(*frame));
  }
  *more = true;
  return absl::OkStatus();
}

absl::Status Channel::Handle(const Frame& frame) {
  if (!frame.descriptors.empty()) return InitLied("sent a descriptor");
  FromInit message;
  if (!message.ParseFromString(frame.bytes)) return InitLied("sent a frame that doesn't parse");
  return phase_ == Phase::kGreeting ? Greeted(message) : Dispatch(message);
}

absl::Status Channel::Dispatch(const FromInit& message) {
  switch (message.frame_case()) {
    case FromInit::kStarted: {
      ASSIGN_OR_RETURN(const JobId id, jobs_.Started(message.started()));
      events_->OnStarted(id);
      return absl::OkStatus();
    }
    case FromInit::kExited: {
      const init::v1::Exited& exited = message.exited();
      ASSIGN_OR_RETURN(const JobId id, jobs_.Exited(exited));
      // What it counted at the exit may have ended before it said so.
      const int left_behind = exited.gone() ? 0 : static_cast<int>(exited.left_behind());
      events_->OnExited(id, exited.wait_status(), left_behind, exited.supervisor_lost());
      if (exited.gone() && events_ != nullptr) events_->OnGone(id);
      return absl::OkStatus();
    }
    case FromInit::kGone: {
      ASSIGN_OR_RETURN(const JobId id, jobs_.Gone(message.gone()));
      events_->OnGone(id);
      return absl::OkStatus();
    }
    case FromInit::kWaiting: {
      RETURN_IF_ERROR(OnIdle());
      ASSIGN_OR_RETURN(const JobId id, jobs_.Waiting(message.waiting()));
      events_->OnWaiting(id);
      return absl::OkStatus();
    }
    case FromInit::kRefused:
      return OnRefused(message.refused());
    case FromInit::kFrozen:
      if (--freezes_ < 0) return InitLied("answered what nobody asked");
      return absl::OkStatus();
    case FromInit::kPortOpened: {
      const std::uint32_t port = message.port_opened().port();
      if (port < 1 || port > 65535) return InitLied("opened a port that can't be");
      RETURN_IF_ERROR(OnIdle());
      events_->OnPortOpened(static_cast<std::uint16_t>(port));
      return absl::OkStatus();
    }
    default:
      return InitLied("sent a frame that it may not send now");
  }
}

absl::Status Channel::OnIdle() {
  return idle_.Spend() ? absl::OkStatus() : InitLied("doesn't stop talking");
}

absl::Status Channel::OnRefused(const init::v1::Refused& refused) {
  ASSIGN_OR_RETURN(const std::optional<JobId> ended, jobs_.Refused(refused));
  if (!ended.has_value()) return OnIdle();
  events_->OnRefused(*ended, RefusalStatus(refused));
  return absl::OkStatus();
}

absl::Status Channel::Start(InitStart start) {
  const JobId id = start.id;
  ASSIGN_OR_RETURN(std::vector<OutFrame> frames, StartFrames(std::move(start)));
  return Begin(id, std::move(frames));
}

absl::Status Channel::StandBy(InitStandby shell) {
  const JobId id = shell.id;
  return Begin(id, StandbyFrames(std::move(shell)));
}

absl::Status Channel::Begin(const JobId& id, std::vector<OutFrame> frames) {
  RETURN_IF_ERROR(jobs_.Add(id));
  absl::Status sent = Send(std::move(frames));
  if (!sent.ok()) jobs_.Forget(id);
  return sent;
}

absl::Status Channel::Use(const JobId& standby, const JobId& id) {
  RETURN_IF_ERROR(jobs_.Use(standby, id));
  ToInit message;
  message.mutable_use()->set_standby_id(standby.bytes());
  message.mutable_use()->set_job_id(id.bytes());
  return Send(OneFrame(message));
}

absl::Status Channel::Tell(const ToInit& message, const JobId* id) {
  if (id != nullptr) RETURN_IF_ERROR(jobs_.CheckKnown(*id));
  return Send(OneFrame(message));
}

absl::Status Channel::Forget(const JobId& id) {
  ToInit message;
  message.mutable_forget()->set_job_id(id.bytes());
  RETURN_IF_ERROR(Tell(message, &id));
  jobs_.Forget(id);
  return absl::OkStatus();
}

absl::Status Channel::Freeze(const ToInit& message) {
  RETURN_IF_ERROR(Send(OneFrame(message)));
  ++freezes_;
  return absl::OkStatus();
}

}  // namespace sandkeep
