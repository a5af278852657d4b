// The arguments that say which job a call is for, and where in its output it begins. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/async.h"
#include "common/ids.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

inline constexpr std::string_view kJobDescription =
    "The job's id as a result gave it; left out, the sandbox's newest command.";
inline constexpr std::string_view kOffsetDescription =
    "Byte of its output at which to begin; left out, where the last result of this job stopped. 0 "
    "shows it from the start.";

struct NamedJob {
  agent::v1::SandboxRef sandbox;
  JobId id;
};

// `sandbox` and `job`. Sets the context's sandbox.
Async<NamedJob> RequireJob(AgentClient& agent, CallContext& context, const Arguments& arguments);

// Where to begin, and what there is to say about it.
struct JobOffset {
  std::int64_t offset = 0;
  std::int64_t errors_offset = 0;  // Of stderr, where that is a stream of its own.
  std::optional<absl::Time> ends;
  std::string_view note;  // May be empty.
};
absl::StatusOr<JobOffset> OffsetOf(const JobServices& services, const CallContext& context,
                                   const NamedJob& job, const Arguments& arguments);

// `wait_seconds`, if it is given.
struct Wait {
  std::chrono::seconds span;
  std::string note;  // May be empty.
};
absl::StatusOr<Wait> WaitOf(const Arguments& arguments);

// An error of the agent about a job, in the words of the tools. Somebody else's job is an unknown
// one.
absl::Status ExplainJobError(const absl::Status& status);

}  // namespace sandkeep::mcp
