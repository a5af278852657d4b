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
#include "common/strings.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;
using Steady = std::chrono::steady_clock;

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

JobRun::JobRun(AgentClient& agent, std::shared_ptr<const RunningJob> job, Progress& progress,
               Options options)
    : agent_(agent),
      job_(std::move(job)),
      progress_(progress),
      options_(options),
      view_(options.max_output_bytes, options.from.output),
      called_(Steady::now()),
      // While it is waited for the start itself.
      deadline_(called_ + std::max<std::chrono::milliseconds>(options.wait, kDefaultWait)) {}

Async<void> JobRun::Start(v1::StartJobRequest request) {
  starts_ = true;
  if (!request.merge_streams()) view_.apart = true;
  bool gone = co_await ClientIsGone();
  if (gone) co_return Gone();
  // A job must have started before it can be ended.
  co_await NoteClosedStream();
  absl::Status status = co_await AwaitStart(request);
  gone = co_await ClientIsGone();
  if (status.ok() && !gone && !time_up_) {
    co_await HeedClosedStream();
    // What it takes to make a sandbox isn't the command's, but no client waits for ever.
    deadline_ = std::min(Steady::now() + options_.wait, called_ + options_.wait + kStartAllowance);
    status = co_await FollowToEnd();
  }
  co_return co_await Leave(std::move(status));
}

Async<void> JobRun::Watch() {
  deadline_ = called_ + options_.wait;
  co_await HeedClosedStream();
  OpenWatch();
  absl::Status status = co_await FollowToEnd();
  co_return co_await Leave(std::move(status));
}

asio::awaitable<absl::Status> JobRun::Leave(absl::Status status) {
  const bool gone = co_await ClientIsGone();
  if (!gone) {
    LetGoLater(co_await asio::this_coro::executor, std::move(stream_));
    co_return status;
  }
  stream_.reset();
  co_await NoteClosedStream();
  if (options_.end_on_disconnect && view_.started && !view_.outcome) {
    const absl::Status stopped = co_await StopJob(agent_, *job_, kDisconnectGrace.count());
    if (!stopped.ok()) Log(Severity::kWarning, "job.stop_failed", {{"why", stopped}});
  }
  co_return Gone();
}

Async<void> JobRun::AwaitStart(const v1::StartJobRequest& request) {
  for (int attempt = 1;; ++attempt) {
    const auto asked = Steady::now();
    stream_ = agent_.StartJob(request);
    auto event = co_await NextEvent();
    if (event.ok() && event->has_value() && (*event)->has_started()) {
      Take(**event);
      co_return absl::OkStatus();
    }
    if (event.ok()) co_return absl::InternalError("The agent's answer doesn't begin with a start.");
    if (absl::IsDeadlineExceeded(event.status()) && Steady::now() >= deadline_) {
      time_up_ = true;
      co_return absl::OkStatus();
    }
    // The id makes the same job of a second try. Who took long to refuse isn't restarting.
    const bool quick = Steady::now() - asked < kReattachPause;
    if (!absl::IsUnavailable(event.status()) || !quick || attempt == kStartAttempts) {
      co_return event.status();
    }
    co_await Pause(kReattachPause);
  }
}

Async<void> JobRun::FollowToEnd() {
  // Cancelled while it was about to start: whoever cancelled it found no job to end.
  if (job_->cancelled) (void)co_await StopJob(agent_, *job_, kCancelGrace.count());
  while (!over()) {
    absl::Status status;
    if (polls_) {
      status = co_await PollOutput();
    } else {
      status = co_await ReadStream();
    }
    if (status.ok()) continue;
    if (!absl::IsUnavailable(status) || !MayRetry()) co_return status;
    co_await PauseWithin(kReattachPause);
    const bool gone = co_await ClientIsGone();
    if (gone) co_return Gone();
    time_up_ = Steady::now() >= deadline_;
    // Of a job that the agent never spoke of we know nothing.
    if (time_up_ && !heard_) co_return status;
    if (!polls_ && !time_up_) OpenWatch();
  }
  co_return absl::OkStatus();
}

bool JobRun::MayRetry() {
  const auto now = Steady::now();
  if (!silent_since_) silent_since_ = now;
  return now - *silent_since_ < kReattachFor;
}

void JobRun::OpenWatch() {
  v1::WatchJobRequest request;
  *request.mutable_sandbox() = job_->sandbox;
  request.set_job_id(job_->job_id);
  request.set_from_offset(end());
  // Who doesn't wait gets what there is.
  request.set_follow(options_.wait.count() > 0);
  stream_ = agent_.WatchJob(std::move(request));
}

Async<JobRun::Event> JobRun::NextEvent() {
  // Without waiting, the stream itself says when there is no more.
  const TimePoint end = starts_ || options_.wait.count() > 0 ? deadline_ : TimePoint::max();
  for (;;) {
    auto event = co_await stream_->NextBefore(std::min(end, progress_.due()));
    if (!absl::IsDeadlineExceeded(event.status())) co_return event;
    if (Steady::now() >= end) co_return event;
    Report(view_.output.LastLine());
  }
}

void JobRun::Report(const std::string& line) {
  if (progress_.wanted()) progress_.Report(line, Steady::now());
}

std::int64_t JobRun::end() const {
  if (!view_.apart) return view_.output.end();
  const std::int64_t errors = view_.errors ? view_.errors->end() : options_.from.errors;
  return std::min(view_.output.end(), errors);
}

OutputWindow& JobRun::WindowOf(v1::Stream stream) {
  if (stream != v1::STREAM_UNSPECIFIED) view_.apart = true;
  if (stream != v1::STDERR) return view_.output;
  if (!view_.errors) view_.errors.emplace(options_.max_output_bytes, options_.from.errors);
  return *view_.errors;
}

void JobRun::Take(const v1::JobEvent& event) {
  heard_ = true;
  silent_since_.reset();
  switch (event.event_case()) {
    case v1::JobEvent::kStarted:
      if (!view_.started) view_.started = event.started();
      break;
    case v1::JobEvent::kOutput:
      WindowOf(event.output().stream()).Append(event.output().offset(), event.output().data());
      view_.waits_for_input = false;
      progress_.SetChanged();
      break;
    case v1::JobEvent::kGap:
      WindowOf(event.gap().stream()).SkipTo(event.gap().to());
      break;
    case v1::JobEvent::kOutcome:
      End(event.outcome());
      break;
    case v1::JobEvent::kWaitingForInput:
      // Nothing comes until somebody types, and that can only be who waits here.
      view_.waits_for_input = true;
      time_up_ = true;
      break;
    case v1::JobEvent::kPaused:
      // It goes on when there is room again, which may be up to who waits here.
      view_.paused = event.paused().reason();
      if (!view_.paused.empty()) time_up_ = true;
      break;
    case v1::JobEvent::kNote:
      if (view_.notes.size() < kMaxPortsTold) view_.notes.push_back(event.note().text());
      break;
    case v1::JobEvent::EVENT_NOT_SET:
      break;
  }
}

void JobRun::End(const v1::Outcome& outcome) {
  view_.outcome = outcome;
  view_.output.Finish();
  if (view_.errors) view_.errors->Finish();
}

Async<void> JobRun::ReadStream() {
  while (!over()) {
    auto event = co_await NextEvent();
    if (absl::IsDeadlineExceeded(event.status()) && Steady::now() >= deadline_) {
      time_up_ = true;
      co_return absl::OkStatus();
    }
    if (!event.ok()) co_return event.status();
    if (!event->has_value()) {
      if (options_.wait.count() > 0 || starts_) {
        co_return absl::UnavailableError("The agent's stream ended early.");
      }
      time_up_ = true;
      co_return absl::OkStatus();
    }
    Take(**event);
    if (progress_.wanted()) Report(view_.output.LastLine());
    // Streams of their own are read whole: what is polled is one.
    if (over() || !can_poll_ || view_.apart) continue;
    if (view_.output.end() - options_.from.output > kStreamedOutputBytes) {
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

asio::awaitable<void> JobRun::PauseWithin(std::chrono::milliseconds span) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Steady::now());
  co_await Pause(std::clamp(left, std::chrono::milliseconds(0), span));
}

Async<void> JobRun::PollOutput() {
  for (std::chrono::milliseconds delay = kMinOutputPoll;;
       delay = std::min(delay * 2, kMaxOutputPoll)) {
    co_await PauseWithin(delay);
    const bool gone = co_await ClientIsGone();
    if (gone) co_return Gone();
    // One byte that is known to be there: what counts is the job's state beside it.
    v1::ReadOutputRequest request = OutputRequest(view_.output.end() - 1, 1);
    auto answer = co_await agent_.ReadOutput(std::move(request));
    if (absl::IsUnimplemented(answer.status())) {
      can_poll_ = polls_ = false;
      OpenWatch();
      co_return absl::OkStatus();
    }
    if (!answer.ok()) co_return answer.status();
    silent_since_.reset();
    const v1::Job& job = answer->job();
    const bool ended = job.state() == v1::Job::ENDED;
    progress_.SetChanged();
    Report(StrCat(SizeInWords(job.output_bytes()), " of output"));
    view_.waits_for_input = job.waiting_for_input();
    view_.paused = job.paused();
    const bool stands = view_.waits_for_input || !view_.paused.empty();
    if (!ended && !stands && Steady::now() < deadline_) continue;
    CO_RETURN_IF_ERROR(co_await ReadTail(job.output_bytes()));
    if (ended) {
      End(job.outcome());
    } else {
      time_up_ = true;
    }
    co_return absl::OkStatus();
  }
}

boost::asio::awaitable<std::optional<absl::Time>> JobRun::AskDeadline() {
  auto answer = co_await agent_.ReadOutput(OutputRequest(view_.output.end(), 1));
  if (!answer.ok() || answer->job().deadline_ms() == 0) co_return std::nullopt;
  co_return absl::FromUnixMillis(answer->job().deadline_ms());
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
