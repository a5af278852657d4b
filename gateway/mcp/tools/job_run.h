// One job, started or found again, and followed to its outcome or until its caller has waited long
// enough.
//
// Survives what happens on the way: an agent that restarts is asked again, from the byte where its
// stream broke; a command that prints without end isn't read whole, only its head and its tail are.
// A closed client stream ends the job that this call started in 2026-07-28, as long as it wasn't
// handed back, and nothing in older revisions. Made for one call, used by its coroutine only, which
// lets it handle cancellation (see Endpoint::Handle).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/client/agent_client.h"
#include "common/async.h"
#include "gateway/mcp/progress.h"
#include "gateway/mcp/running_calls.h"
#include "gateway/mcp/tools/output_window.h"

namespace sandkeep::mcp {

// What is known of a job when the waiting is over.
struct JobView {
  explicit JobView(std::size_t max_output_bytes, std::int64_t from = 0)
      : output(max_output_bytes, from) {}

  // Not set: this call didn't start it, or it hasn't started yet.
  std::optional<agent::v1::JobStarted> started;
  // Not set: it runs on.
  std::optional<agent::v1::Outcome> outcome;
  OutputWindow output;
  // stderr and stdout are streams of their own; `output` is stdout then.
  bool apart = false;
  std::optional<OutputWindow> errors;  // If there was any.
  // It blocks reading its input, as far as is known.
  bool waits_for_input = false;
  // Why it is stopped for now, in words for the model; empty: it isn't.
  std::string paused;
  // Lines for the model that came meanwhile; a few.
  std::vector<std::string> notes;
};

class JobRun {
 public:
  // Where in the output it begins.
  struct From {
    std::int64_t output = 0;
    std::int64_t errors = 0;
  };
  struct Options {
    std::size_t max_output_bytes = 0;
    From from;
    // From the start of the job, or of the call if that is later.
    std::chrono::milliseconds wait{0};
    // The job ends when the client leaves.
    bool end_on_disconnect = false;
  };

  // All outlive it.
  JobRun(AgentClient& agent, std::shared_ptr<const RunningJob> job, Progress& progress,
         Options options);

  // Both: to the outcome, or until the time is over. Cancelled: the client is gone; the job has
  // been told if that ends it.
  Async<void> Start(agent::v1::StartJobRequest request);
  Async<void> Watch();

  // When the job is ended, if it runs so long; nothing: never, or nobody can say.
  boost::asio::awaitable<std::optional<absl::Time>> AskDeadline();

  const JobView& view() const { return view_; }
  // Neither when it stopped waiting nor at any time before had it started.
  bool unstarted() const { return starts_ && !view_.started; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Event = std::optional<agent::v1::JobEvent>;

  // To the event that says it started.
  Async<void> AwaitStart(const agent::v1::StartJobRequest& request);
  Async<void> FollowToEnd();
  // All: OK when ended, when the time is over, or when the other is to go on.
  Async<void> ReadStream();
  Async<void> PollOutput();
  Async<void> ReadTail(std::int64_t total);
  // DeadlineExceeded: the time is over.
  Async<Event> NextEvent();
  boost::asio::awaitable<void> PauseWithin(std::chrono::milliseconds span);
  boost::asio::awaitable<absl::Status> Leave(absl::Status status);

  void OpenWatch();
  // All that is known to have been printed, of the stream of which that is less.
  std::int64_t end() const;
  OutputWindow& WindowOf(agent::v1::Stream stream);
  void Take(const agent::v1::JobEvent& event);
  void End(const agent::v1::Outcome& outcome);
  void Report(const std::string& line);
  bool over() const { return view_.outcome.has_value() || time_up_; }
  // False: it was too long ago that the agent last answered.
  bool MayRetry();
  agent::v1::ReadOutputRequest OutputRequest(std::int64_t offset, std::int64_t limit) const;

  AgentClient& agent_;
  const std::shared_ptr<const RunningJob> job_;
  Progress& progress_;
  const Options options_;
  JobView view_;
  JobEventStream stream_;
  const TimePoint called_;
  TimePoint deadline_;
  bool starts_ = false;
  bool heard_ = false;
  bool time_up_ = false;
  bool polls_ = false;
  bool can_poll_ = true;
  std::optional<TimePoint> silent_since_;
};

// Ends the job's tree: SIGTERM, and SIGKILL to what is left after `grace_ms`.
Async<void> StopJob(AgentClient& agent, const RunningJob& job, std::int64_t grace_ms);

}  // namespace sandkeep::mcp
