#include "gateway/mcp/tools/job_run.h"

#include <algorithm>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <csignal>

#include "common/limits.h"
#include "common/log.h"
#include "common/pause.h"
#include "common/status_macros.h"

namespace sandkeep::mcp {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;

asio::awaitable<bool> ClientIsGone() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// A closed stream is noted, and interrupts nothing.
asio::awaitable<void> NoteClosedStream() {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation(),
                                                     asio::disable_cancellation());
}

// A closed stream interrupts what is awaited.
asio::awaitable<void> HeedClosedStream() {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation(),
                                                     asio::enable_total_cancellation());
}

// Ends the stream once the answer is on its way: cancelling a call costs what a short command
// costs.
void LetGoLater(const asio::any_io_executor& executor, JobEventStream stream) {
  auto let_go = [held = std::move(stream)]() mutable { held.reset(); };
  asio::post(executor, std::move(let_go));
}

absl::Status Gone() { return absl::CancelledError("The client closed its stream."); }

}  // namespace

Async<void> JobRun::Follow(v1::StartJobRequest request) {
  bool gone = co_await ClientIsGone();
  if (gone) co_return Gone();
  // A job must have started before it can be ended.
  co_await NoteClosedStream();
  absl::Status status = co_await Start(request);
  gone = co_await ClientIsGone();
  if (status.ok() && !gone) {
    co_await HeedClosedStream();
    status = co_await FollowToEnd();
    gone = co_await ClientIsGone();
  }
  if (!gone) {
    LetGoLater(co_await asio::this_coro::executor, std::move(stream_));
    co_return status;
  }
  stream_.reset();
  co_await NoteClosedStream();
  if (end_on_disconnect_ && started_ && !ended_) {
    const absl::Status stopped = co_await StopJob(agent_, *job_, kDisconnectGrace.count());
    if (!stopped.ok()) Log(Severity::kWarning, "job.stop_failed", {{"why", stopped}});
  }
  co_return Gone();
}

Async<void> JobRun::Start(const v1::StartJobRequest& request) {
  for (int attempt = 1;; ++attempt) {
    const auto asked = std::chrono::steady_clock::now();
    stream_ = agent_.StartJob(request);
    auto event = co_await stream_->Next();
    if (event.ok() && event->has_value() && (*event)->has_started()) {
      Take(**event);
      co_return absl::OkStatus();
    }
    if (event.ok()) co_return absl::InternalError("The agent's answer doesn't begin with a start.");
    // The id makes the same job of a second try. Who took long to refuse isn't restarting.
    const bool quick = std::chrono::steady_clock::now() - asked < kReattachPause;
    if (!absl::IsUnavailable(event.status()) || !quick || attempt == kStartAttempts) {
      co_return event.status();
    }
    co_await Pause(kReattachPause);
  }
}

Async<void> JobRun::FollowToEnd() {
  // Cancelled while it was about to start: whoever cancelled it found no job to end.
  if (job_->cancelled) (void)co_await StopJob(agent_, *job_, kCancelGrace.count());
  while (!ended_) {
    absl::Status status;
    if (polls_) {
      status = co_await PollOutput();
    } else {
      status = co_await ReadStream();
    }
    if (status.ok()) continue;
    if (!absl::IsUnavailable(status) || !MayRetry()) co_return status;
    co_await Pause(kReattachPause);
    const bool gone = co_await ClientIsGone();
    if (gone) co_return Gone();
    if (!polls_) Watch();
  }
  co_return absl::OkStatus();
}

bool JobRun::MayRetry() {
  const auto now = std::chrono::steady_clock::now();
  if (!silent_since_) silent_since_ = now;
  return now - *silent_since_ < kReattachFor;
}

void JobRun::Watch() {
  v1::WatchJobRequest request;
  *request.mutable_sandbox() = job_->sandbox;
  request.set_job_id(job_->job_id);
  request.set_from_offset(view_.output.end());
  request.set_follow(true);
  stream_ = agent_.WatchJob(std::move(request));
}

void JobRun::Take(const v1::JobEvent& event) {
  silent_since_.reset();
  switch (event.event_case()) {
    case v1::JobEvent::kStarted:
      if (!started_) view_.started = event.started();
      started_ = true;
      break;
    case v1::JobEvent::kOutput:
      view_.output.Append(event.output().offset(), event.output().data());
      break;
    case v1::JobEvent::kGap:
      view_.output.SkipTo(event.gap().to());
      break;
    case v1::JobEvent::kOutcome:
      view_.outcome = event.outcome();
      ended_ = true;
      break;
    case v1::JobEvent::kWaitingForInput:
    case v1::JobEvent::EVENT_NOT_SET:
      break;
  }
}

Async<void> JobRun::ReadStream() {
  while (!ended_) {
    auto event = co_await stream_->Next();
    if (!event.ok()) co_return event.status();
    if (!event->has_value()) co_return absl::UnavailableError("The agent's stream ended early.");
    Take(**event);
    if (!ended_ && can_poll_ && view_.output.end() > kStreamedOutputBytes) {
      polls_ = true;
      stream_.reset();
      co_return absl::OkStatus();
    }
  }
  co_return absl::OkStatus();
}

v1::ReadOutputRequest JobRun::OutputRequest(std::int64_t offset, std::int64_t limit) const {
  v1::ReadOutputRequest request;
  *request.mutable_sandbox() = job_->sandbox;
  request.set_job_id(job_->job_id);
  request.set_offset(offset);
  request.set_limit(limit);
  return request;
}

Async<void> JobRun::PollOutput() {
  for (std::chrono::milliseconds delay = kMinOutputPoll;;
       delay = std::min(delay * 2, kMaxOutputPoll)) {
    co_await Pause(delay);
    const bool gone = co_await ClientIsGone();
    if (gone) co_return Gone();
    // One byte that is known to be there: what counts is the job's state beside it.
    v1::ReadOutputRequest request = OutputRequest(view_.output.end() - 1, 1);
    auto answer = co_await agent_.ReadOutput(std::move(request));
    if (absl::IsUnimplemented(answer.status())) {
      can_poll_ = polls_ = false;
      Watch();
      co_return absl::OkStatus();
    }
    if (!answer.ok()) co_return answer.status();
    silent_since_.reset();
    if (answer->job().state() != v1::Job::ENDED) continue;
    CO_RETURN_IF_ERROR(co_await ReadTail(answer->job().output_bytes()));
    view_.outcome = answer->job().outcome();
    ended_ = true;
    co_return absl::OkStatus();
  }
}

Async<void> JobRun::ReadTail(std::int64_t total) {
  std::int64_t from = std::max(view_.output.end(), total - view_.output.tail_bytes());
  while (from < total) {
    const std::int64_t limit = std::min<std::int64_t>(total - from, kMaxReadOutputBytes);
    v1::ReadOutputRequest request = OutputRequest(from, limit);
    auto answer = co_await agent_.ReadOutput(std::move(request));
    if (!answer.ok()) co_return answer.status();
    if (answer->data().empty()) break;
    view_.output.Append(answer->offset(), answer->data());
    from = answer->offset() + static_cast<std::int64_t>(answer->data().size());
  }
  view_.output.SkipTo(total);
  co_return absl::OkStatus();
}

Async<void> StopJob(AgentClient& agent, const RunningJob& job, std::int64_t grace_ms) {
  v1::SignalJobRequest request;
  *request.mutable_sandbox() = job.sandbox;
  request.set_job_id(job.job_id);
  request.set_signal(SIGTERM);
  request.set_grace_ms(grace_ms);
  auto answer = co_await agent.SignalJob(std::move(request));
  co_return answer.status();
}

}  // namespace sandkeep::mcp
