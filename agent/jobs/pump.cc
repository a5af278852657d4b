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

Pump::Pump(asio::any_io_executor strand, UniqueFd pipe, Spool spool, std::string name,
           PumpSink& sink)
    : strand_(strand),
      waiter_(strand),
      timer_(strand),
      pipe_(std::move(pipe)),
      spool_(std::move(spool)),
      name_(std::move(name)),
      sink_(&sink) {}

Pump::~Pump() { Stop(); }

absl::Status Pump::Start() {
  RETURN_IF_ERROR(spool_.Resume());
  error_code error;
  waiter_.assign(pipe_.get(), error);
  if (error) return ErrnoStatus(error.value(), "watching a pipe");
  Wait();
  return absl::OkStatus();
}

void Pump::DrainNow() {
  if (state_ == State::kWaiting || state_ == State::kGathering) Turn();
}

void Pump::Finish() {
  if (state_ == State::kEnded) return;
  // A pipe holds at most a MiB: one turn is all there is.
  Spool::Taken taken;
  const absl::Status status = spool_.Take(pipe_, kSpliceTurnBytes, &taken);
  if (!status.ok()) {
    Log(Severity::kError, "spool.output_lost", {{"job", name_}, {"why", status}});
  }
  Stop();
}

void Pump::Stop() {
  sink_ = nullptr;
  state_ = State::kEnded;
  timer_.cancel();
  if (waiter_.is_open()) waiter_.release();
  pipe_.Reset();
  spool_.Close();
}

void Pump::Turn() {
  Spool::Taken taken;
  const absl::Status status = spool_.Take(pipe_, kSpliceTurnBytes, &taken);
  // First what comes next: the sink may end it.
  if (!status.ok()) {
    Stuck(status);
  } else if (taken.after == Spool::After::kEnd) {
    return End();
  } else if (taken.after == Spool::After::kMore) {
    PostTurn();
  } else if (taken.bytes > 0 && taken.bytes < static_cast<std::int64_t>(kSpliceCoalesceBelow)) {
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
  if (std::exchange(armed_, true)) return;
  auto readable = [self = shared_from_this()](error_code error) {
    self->armed_ = false;
    if (!error && self->state_ == State::kWaiting) self->Turn();
  };
  waiter_.async_wait(asio::posix::descriptor_base::wait_read, std::move(readable));
}

void Pump::Pause(State state, std::chrono::milliseconds time) {
  state_ = state;
  timer_.expires_after(time);
  auto due = [self = shared_from_this(), state](error_code error) {
    if (!error && self->state_ == state) self->Turn();
  };
  timer_.async_wait(std::move(due));
}

void Pump::PostTurn() {
  state_ = State::kTurnPosted;
  asio::post(strand_, [self = shared_from_this()]() {
    if (self->state_ == State::kTurnPosted) self->Turn();
  });
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
