// One command, started and followed to its outcome.
//
// Survives what happens on the way: an agent that restarts is asked again, from the byte where its
// stream broke; a command that prints without end isn't read whole, only its head and its tail are.
// A closed client stream ends the job in 2026-07-28 and nothing in older revisions. Made for one
// call, used by its coroutine only, which lets it handle cancellation (see Endpoint::Handle).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "gateway/mcp/running_calls.h"
#include "gateway/mcp/tools/output_window.h"

namespace sandkeep::mcp {

// What is known of a job at its end.
struct JobView {
  explicit JobView(std::size_t max_output_bytes) : output(max_output_bytes) {}

  agent::v1::JobStarted started;
  agent::v1::Outcome outcome;
  OutputWindow output;
};

class JobRun {
 public:
  JobRun(AgentClient& agent, std::shared_ptr<const RunningJob> job, bool end_on_disconnect,
         std::size_t max_output_bytes)
      : agent_(agent),
        job_(std::move(job)),
        end_on_disconnect_(end_on_disconnect),
        view_(max_output_bytes) {}

  // To the outcome. Cancelled: the client is gone; the job has been told if that ends it.
  Async<void> Follow(agent::v1::StartJobRequest request);

  const JobView& view() const { return view_; }

 private:
  // To the event that says it started.
  Async<void> Start(const agent::v1::StartJobRequest& request);
  Async<void> FollowToEnd();
  // Both: OK when ended, or when the other is to go on.
  Async<void> ReadStream();
  Async<void> PollOutput();
  Async<void> ReadTail(std::int64_t total);
  void Watch();
  void Take(const agent::v1::JobEvent& event);
  // False: it was too long ago that the agent last answered.
  bool MayRetry();
  agent::v1::ReadOutputRequest OutputRequest(std::int64_t offset, std::int64_t limit) const;

  AgentClient& agent_;
  const std::shared_ptr<const RunningJob> job_;
  const bool end_on_disconnect_;
  JobView view_;
  JobEventStream stream_;
  bool started_ = false;
  bool ended_ = false;
  bool polls_ = false;
  bool can_poll_ = true;
  std::optional<std::chrono::steady_clock::time_point> silent_since_;
};

// Ends the job's tree: SIGTERM, and SIGKILL to what is left after `grace_ms`.
Async<void> StopJob(AgentClient& agent, const RunningJob& job, std::int64_t grace_ms);

}  // namespace sandkeep::mcp
