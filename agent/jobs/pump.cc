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

// Or the last bytes of a command would need more than one turn.
static_assert(kSpliceTurnBytes >= kWidePipeBytes);

}  // namespace

Pump::Pump(const asio::any_io_executor& strand, asio::any_io_executor disk, UniqueFd pipe,
           Spool spool, std::string name, PumpSink& sink)
    : strand_(strand),
      disk_(std::move(disk)),
      waiter_(strand),
      timer_(strand),
      pipe_(std::move(pipe)),
      spool_(std::move(spool)),
      name_(std::move(name)),
      sink_(&sink) {}

Pump::~Pump() { Stop(); }

absl::Status Pump::Resume() {
  RETURN_IF_ERROR(spool_.Resume());
  size_ = spool_.size();
  width_.Begin(pipe_);
  wide_ = width_.wide();
  Wait();
  return absl::OkStatus();
}

void Pump::DrainNow() {
  if (state_ == State::kWaiting || state_ == State::kGathering) Turn(kDrainTries);
}

void Pump::Finish() {
  if (state_ == State::kEnded) return;
  // A pipe holds at most a MiB: one turn is all there is.
  const TurnEnd turn = TakeTurn(kDrainTries);
  size_ = turn.size;
  if (!turn.status.ok()) {
    Log(Severity::kError, "spool.output_lost", {{"job", name_}, {"why", turn.status}});
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
  width_.Forget();
  spool_.Close();
}

Pump::TurnEnd Pump::TakeTurn(int tries) {
  constexpr auto kTurn = static_cast<std::int64_t>(kSpliceTurnBytes);
  const std::lock_guard lock(turn_);
  TurnEnd end{.size = spool_.size()};
  // It may have been stopped before the disk's threads came to it.
  if (!pipe_) return end;
  end.status = spool_.Take(pipe_, kTurn, &end.taken);
  while (end.status.ok() && end.taken.after == Spool::After::kFew && --tries > 0) {
    end.status = spool_.Take(pipe_, kTurn, &end.taken);
  }
  end.size = spool_.size();
  if (end.status.ok()) width_.Took(pipe_, end.taken.bytes);
  end.wide = width_.wide();
  return end;
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
  if (wide_) return TurnAtDisk(tries);
  const TurnEnd turn = TakeTurn(tries);
  Taken(turn);
}

void Pump::TurnAtDisk(int tries) {
  Unwatch();
  state_ = State::kAtDisk;
  auto turn = [self = shared_from_this(), tries]() {
    auto back = [self, turn = self->TakeTurn(tries)]() {
      if (self->state_ != State::kAtDisk) return;
      ++self->disk_turns_;
      self->Taken(turn);
    };
    asio::post(self->strand_, std::move(back));
  };
  asio::post(disk_, std::move(turn));
}

void Pump::Taken(const TurnEnd& turn) {
  const auto& [status, taken, size, wide] = turn;
  size_ = size;
  wide_ = wide;
  // First what comes next: the sink may end it.
  if (!status.ok()) {
    Stuck(status);
  } else if (taken.after == Spool::After::kEnd) {
    return End();
  } else if (taken.after == Spool::After::kMore || (wide && taken.bytes >= kOverfullPipeBytes)) {
    TurnAtDisk();
  } else if (taken.after == Spool::After::kFew) {
    Pause(State::kGathering, kSpliceCoalesce);
  } else if (wide && taken.bytes > 0) {
    Pause(State::kGathering, kWidePipeCoalesce);
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

void Pump::Pause(State state, std::chrono::steady_clock::duration time) {
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
