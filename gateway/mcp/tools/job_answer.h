// A job that was followed, as a tool's result; and the memory of where it stopped. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/async.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/tools/job_services.h"

namespace sandkeep::mcp {

struct AnswerOptions {
  std::optional<absl::Time> ends;
  bool timeout_given = false;
  std::int64_t errors_from = 0;
  // How the job began, if another call saw it.
  std::shared_ptr<const agent::v1::JobStarted> started = nullptr;
  std::vector<std::string> notes;
};

// `run` has come to its end or its time is over.
Async<ToolResult> AnswerOf(const JobServices& services, CallContext& context, const NamedJob& job,
                           const JobRun& run, AnswerOptions options);

// What a job has printed since `begin`, once it has ended or `wait` is over.
Async<ToolResult> AwaitMore(const JobServices& services, CallContext& context, NamedJob job,
                            JobOffset begin, std::chrono::milliseconds wait, std::string note);

// The URL of all that a job printed; `errors`: to its second stream, if it has one. Empty: it can't
// be made now. `sandbox` as the agent last described it, or with an empty key, if it has to be
// asked.
boost::asio::awaitable<std::string> OutputLinkOf(const JobServices& services,
                                                 const CallContext& context, const NamedJob& job,
                                                 const agent::v1::Sandbox& sandbox, bool errors);

}  // namespace sandkeep::mcp
