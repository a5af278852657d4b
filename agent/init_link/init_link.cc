#include "agent/init_link/init_link.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

#include "agent/init_link/frames.h"
#include "agent/init_link/init_jobs.h"
#include "agent/init_link/outbox.h"
#include "common/frame_socket.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using init::v1::FromInit;
using init::v1::ToInit;

// Linux 6.16: refuses descriptors before they are queued, so that no stranger's close() can hold us
// up. Where it isn't known, they are closed on arrival.
constexpr int kSoPassRights = 83;

absl::Status Lied(std::string_view what) { return absl::DataLossError(StrCat("init ", what)); }

absl::StatusOr<UniqueFd> TakeFrom(const UniqueFd& pidfd, int number) {
  if (number < 0) return UniqueFd();
  UniqueFd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd.get(), number, 0)));
  if (taken) return taken;
  if (errno == EBADF) return Lied("named a descriptor that it doesn't have");
  return ErrnoStatus(errno, "pidfd_getfd");
}

// How many frames that change nothing init may still send in this second.
class IdleBudget {
 public:
  bool Spend() {
    const auto now = std::chrono::steady_clock::now();
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      left_ = kMaxIdleInitFrames;
    }
    return --left_ >= 0;
  }

 private:
  std::chrono::steady_clock::time_point since_{};
  int left_ = kMaxIdleInitFrames;
};

// What the handlers hold on to; the link itself may go at any time.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(asio::any_io_executor strand, RunningContainer container, InitEvents& events,
          Random& random, std::chrono::milliseconds hello_deadline)
      : pidfd_(std::move(container.init_pidfd)),
        channel_(std::move(container.channel)),
        events_(&events),
        epoch_(random.Bytes(JobId::kBytes)),
        hello_deadline_(hello_deadline),
        strand_(strand),
        descriptor_(strand),
        greeting_(strand) {}
  ~Channel() { Release(); }

  Async<std::vector<InitJob>> Hello();
  void Listen();
  absl::Status Start(InitStart start);
  absl::Status Tell(const ToInit& message, const JobId* id);
  absl::Status Forget(const JobId& id);
  absl::Status Freeze(const ToInit& message);

  void Close() {
    events_ = nullptr;
    Release();
  }

 private:
  enum class Phase { kNew, kGreeting, kGreeted, kListening, kClosed };

  absl::Status Open();
  absl::Status DrainStale();
  absl::StatusOr<std::vector<InitJob>> TakeJobs();
  void Release();
  void Break(absl::Status why);

  absl::Status Send(std::vector<OutFrame> frames);
  void WaitWritable();
  void WaitReadable();
  void ReadTurn();
  absl::Status Receive(int limit, bool* more);
  absl::Status Handle(const Frame& frame);
  absl::Status Greeted(const FromInit& message);
  absl::Status Dispatch(const FromInit& message);
  absl::Status OnRefused(const init::v1::Refused& refused);
  absl::Status OnIdle();
  bool reading() const { return phase_ == Phase::kGreeting || phase_ == Phase::kListening; }

  UniqueFd pidfd_;
  UniqueFd channel_;
  InitEvents* events_;
  std::string epoch_;
  std::chrono::milliseconds hello_deadline_;
  asio::any_io_executor strand_;
  asio::posix::stream_descriptor descriptor_;
  // Cancelled when the greeting is over, either way.
  asio::steady_timer greeting_;

  Phase phase_ = Phase::kNew;
  std::optional<FrameSocket> socket_;
  Outbox outbox_;
  InitJobs jobs_;
  IdleBudget idle_;
  std::vector<init::v1::JobState> named_;
  absl::Status broken_;
  int stale_ = 0;
  int freezes_ = 0;
  bool writing_ = false;
};

absl::Status Channel::Open() {
  ASSIGN_OR_RETURN(socket_, FrameSocket::Adopt(std::move(channel_)));
  const int off = 0;
  ::setsockopt(socket_->fd(), SOL_SOCKET, kSoPassRights, &off, sizeof(off));
  error_code error;
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
  return Lied("had more to say than a queue holds");
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
  if (!frame.descriptors.empty()) return Lied("sent a descriptor");
  FromInit message;
  if (!message.ParseFromString(frame.bytes)) return Lied("sent a frame that doesn't parse");
  return phase_ == Phase::kGreeting ? Greeted(message) : Dispatch(message);
}

absl::Status Channel::Greeted(const FromInit& message) {
  if (!message.has_hello() || message.hello().epoch() != epoch_) {
    // Of an earlier agent's time, sent while we were on our way.
    if (!named_.empty()) return Lied("broke off its list of jobs");
    if (++stale_ > kMaxStaleInitFrames) return Lied("had more to say than a queue holds");
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
  if (named_.size() > kMaxInitJobs) return Lied("named more jobs than it may have");
  if (reply.more()) {
    if (reply.jobs().empty()) return Lied("promised jobs and named none");
    return absl::OkStatus();
  }
  if (reply.dropped_frames() > 0) {
    Log(Severity::kWarning, "init.dropped_frames", {{"count", reply.dropped_frames()}});
  }
  phase_ = Phase::kGreeted;
  greeting_.cancel();
  return absl::OkStatus();
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
      events_->OnExited(id, exited.wait_status(), static_cast<int>(exited.left_behind()),
                        exited.supervisor_lost());
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
      if (--freezes_ < 0) return Lied("answered what nobody asked");
      return absl::OkStatus();
    case FromInit::kPortOpened: {
      const bool port = message.port_opened().port() >= 1 && message.port_opened().port() <= 65535;
      return port ? OnIdle() : Lied("opened a port that can't be");
    }
    default:
      return Lied("sent a frame that it may not send now");
  }
}

absl::Status Channel::OnIdle() {
  return idle_.Spend() ? absl::OkStatus() : Lied("doesn't stop talking");
}

absl::Status Channel::OnRefused(const init::v1::Refused& refused) {
  absl::StatusOr<JobId> id = JobId::FromBytes(refused.job_id());
  if (!id.ok()) return Lied("sent a job id that is none");
  ASSIGN_OR_RETURN(const bool ended, jobs_.Refused(refused, *id));
  if (!ended) return OnIdle();
  events_->OnRefused(*id, RefusalStatus(refused));
  return absl::OkStatus();
}

absl::Status Channel::Start(InitStart start) {
  const JobId id = start.id;
  ASSIGN_OR_RETURN(std::vector<OutFrame> frames, StartFrames(std::move(start)));
  RETURN_IF_ERROR(jobs_.Add(id));
  absl::Status sent = Send(std::move(frames));
  if (!sent.ok()) jobs_.Forget(id);
  return sent;
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

class ChannelLink : public InitLink {
 public:
  explicit ChannelLink(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  ~ChannelLink() override { channel_->Close(); }

  Async<std::vector<InitJob>> Hello() override { return channel_->Hello(); }
  void Listen() override { channel_->Listen(); }
  absl::Status Start(InitStart start) override { return channel_->Start(std::move(start)); }
  absl::Status Forget(const JobId& id) override { return channel_->Forget(id); }
  void Close() override { channel_->Close(); }

  absl::Status EndInput(const JobId& id) override {
    ToInit message;
    message.mutable_input()->set_job_id(id.bytes());
    message.mutable_input()->set_end(true);
    return channel_->Tell(message, &id);
  }

  absl::Status Signal(const JobId& id, int signal, bool tree) override {
    if (signal < 1 || signal > SIGRTMAX) return absl::InvalidArgumentError("no such signal");
    ToInit message;
    message.mutable_signal()->set_job_id(id.bytes());
    message.mutable_signal()->set_signal(signal);
    message.mutable_signal()->set_tree(tree);
    return channel_->Tell(message, &id);
  }

  absl::Status FreezeAll() override {
    ToInit message;
    message.mutable_freeze();
    return channel_->Freeze(message);
  }

  absl::Status ThawAll() override {
    ToInit message;
    message.mutable_thaw();
    return channel_->Freeze(message);
  }

 private:
  std::shared_ptr<Channel> channel_;
};

}  // namespace

std::unique_ptr<InitLink> MakeInitLink(asio::any_io_executor strand, RunningContainer container,
                                       InitEvents& events, Random& random,
                                       std::chrono::milliseconds hello_deadline) {
  return std::make_unique<ChannelLink>(std::make_shared<Channel>(
      std::move(strand), std::move(container), events, random, hello_deadline));
}

}  // namespace sandkeep
