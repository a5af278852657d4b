#include "agent/jobs/pump.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

}  // namespace

Pump::Pump(asio::any_io_executor strand, asio::any_io_executor disk, UniqueFd pipe, Spool spool,
           std::string name, PumpSink& sink)
    : strand_(strand),
      disk_(std::move(disk)),
      waiter_(strand),
      timer_(strand),
      pipe_(std::move(pipe)),
      spool_(std::move(spool)),
      name_(std::move(name)),
      sink_(&sink) {}

Pump::~Pump() { Stop(); }

absl::Status Pump::Start() {
  RETURN_IF_ERROR(spool_.Resume());
  size_ = spool_.size();
  Wait();
  return absl::OkStatus();
}

void Pump::DrainNow() {
  if (state_ == State::kWaiting || state_ == State::kGathering) Turn(kDrainTries);
}

void Pump::Finish() {
  if (state_ == State::kEnded) return;
  // A pipe holds at most a MiB: one turn is all there is.
  Spool::Taken taken;
  const absl::Status status = TakeTurn(kDrainTries, &taken, &size_);
  if (!status.ok()) {
    Log(Severity::kError, "spool.output_lost", {{"job", name_}, {"why", status}});
  }
  Stop();
}

void Pump::Stop() {
  sink_ = nullptr;
  state_ = State::kEnded;
  timer_.cancel();
  Unwatch();
  const std::lock_guard lock(turn_);
  pipe_.Reset();
  spool_.Close();
}

absl::Status Pump::TakeTurn(int tries, Spool::Taken* taken, std::int64_t* size) {
  constexpr auto kTurn = static_cast<std::int64_t>(kSpliceTurnBytes);
  const std::lock_guard lock(turn_);
  absl::Status status;
  // It may have been stopped before the disk's threads came to it.
  if (pipe_) status = spool_.Take(pipe_, kTurn, taken);
  while (status.ok() && taken->after == Spool::After::kFew && --tries > 0) {
    status = spool_.Take(pipe_, kTurn, taken);
  }
  *size = spool_.size();
  return status;
}

void Pump::Narrow(SpoolWindow window) {
  // What readers know of now: a turn may have taken more that they haven't heard of.
  auto narrow = [self = shared_from_this(), window, known = size_]() {
    const std::lock_guard lock(self->turn_);
    self->spool_.Narrow(window, known);
  };
  asio::post(disk_, std::move(narrow));
}

void Pump::Turn(int tries) {
  Spool::Taken taken;
  std::int64_t size = 0;
  const absl::Status status = TakeTurn(tries, &taken, &size);
  Taken(status, taken, size);
}

void Pump::TurnAtDisk() {
  Unwatch();
  state_ = State::kAtDisk;
  auto turn = [self = shared_from_this()]() {
    Spool::Taken taken;
    std::int64_t size = 0;
    const absl::Status status = self->TakeTurn(1, &taken, &size);
    auto back = [self, status, taken, size]() {
      if (self->state_ != State::kAtDisk) return;
      ++self->disk_turns_;
      self->Taken(status, taken, size);
    };
    asio::post(self->strand_, std::move(back));
  };
  asio::post(disk_, std::move(turn));
}

void Pump::Taken(const absl::Status& status, const Spool::Taken& taken, std::int64_t size) {
  size_ = size;
  // First what comes next: the sink may end it.
  if (!status.ok()) {
    Stuck(status);
  } else if (taken.after == Spool::After::kEnd) {
    return End();
  } else if (taken.after == Spool::After::kMore) {
    TurnAtDisk();
  } else if (taken.after == Spool::After::kFew) {
    Pause(State::kGathering, kSpliceCoalesce);
  } else {
    Wait();
  }
  if (taken.bytes == 0) return;
  if (status.ok() && std::exchange(complained_, false)) {
    Log(Severity::kInfo, "spool.goes_on", {{"job", name_}});
  }
  sink_->OnOutput();
}

void Pump::Wait() {
  state_ = State::kWaiting;
  if (armed_) return;
  error_code error;
  if (!waiter_.is_open()) waiter_.assign(pipe_.get(), error);
  if (error) return Stuck(ErrnoStatus(error.value(), "watching a pipe"));
  armed_ = true;
  auto readable = [self = shared_from_this(), wait = ++wait_](error_code failed) {
    if (self->wait_ != wait) return;
    self->armed_ = false;
    if (!failed && self->state_ == State::kWaiting) self->Turn();
  };
  waiter_.async_wait(asio::posix::descriptor_base::wait_read, std::move(readable));
}

// As long as a pipe is registered, each write to it wakes the I/O thread, waited for or not.
void Pump::Unwatch() {
  if (waiter_.is_open()) waiter_.release();
  armed_ = false;
  ++wait_;
}

void Pump::Pause(State state, std::chrono::milliseconds time) {
  Unwatch();
  state_ = state;
  timer_.expires_after(time);
  auto due = [self = shared_from_this(), state](error_code error) {
    if (!error && self->state_ == state) self->Turn();
  };
  timer_.async_wait(std::move(due));
}

void Pump::Stuck(const absl::Status& why) {
  if (!std::exchange(complained_, true)) {
    Log(Severity::kWarning, "spool.stuck", {{"job", name_}, {"why", why}});
  }
  Pause(State::kStuck, kSpoolRetry);
}

void Pump::End() {
  PumpSink* sink = sink_;
  Stop();
  sink->OnOutput();
  sink->OnEndOfOutput();
}

}  // namespace sandkeep
