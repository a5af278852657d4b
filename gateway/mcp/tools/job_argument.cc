#include "gateway/mcp/tools/job_argument.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

absl::Status NoSuchJob() {
  return absl::NotFoundError(
      "There is no such job in this sandbox: sandbox_info with this sandbox lists its jobs, and "
      "without one your sandboxes.");
}

Async<JobId> NewestJob(AgentClient& agent, v1::SandboxRef sandbox) {
  v1::ListJobsRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_limit(1);
  const absl::StatusOr<v1::ListJobsResponse> list = co_await agent.ListJobs(std::move(request));
  if (!list.ok()) co_return ExplainJobError(list.status());
  if (list->jobs().empty()) {
    co_return absl::NotFoundError(
        "No command has run in this sandbox yet, or none is remembered: check the label, or start "
        "one with run_command.");
  }
  co_return JobId::FromBytes(list->jobs(0).job_id());
}

// As a model copies it, brackets and all.
std::string_view Bare(std::string_view text) {
  const auto blank = [](char c) { return absl::ascii_isspace(c) || c == '[' || c == ']'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  constexpr std::string_view kField = "job ";
  if (text.substr(0, kField.size()) == kField) text.remove_prefix(kField.size());
  return text;
}

}  // namespace

Async<NamedJob> RequireJob(AgentClient& agent, CallContext& context, const Arguments& arguments) {
  CO_ASSIGN_OR_RETURN(v1::SandboxRef sandbox, co_await RequireSandbox(agent, context, arguments));
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> text, arguments.Text("job"));
  if (!text || text->empty()) {
    CO_ASSIGN_OR_RETURN(JobId newest, co_await NewestJob(agent, sandbox));
    co_return NamedJob{.sandbox = std::move(sandbox), .id = std::move(newest)};
  }
  absl::StatusOr<JobId> id = JobId::FromHex(absl::AsciiStrToLower(ToAbsl(Bare(*text))));
  if (!id.ok()) co_return NoSuchJob();
  co_return NamedJob{.sandbox = std::move(sandbox), .id = *std::move(id)};
}

absl::StatusOr<JobOffset> OffsetOf(const JobServices& services, const CallContext& context,
                                   const NamedJob& job, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> given, arguments.Integer("offset"));
  if (given && *given < 0) {
    return absl::InvalidArgumentError(
        "offset must be 0 or more: leave it out to go on where the last result stopped.");
  }
  const std::optional<JobPosition> known = services.positions.Find(context.principal(), job.id);
  JobOffset found;
  if (known) {
    found.ends = known->ends;
    found.offset = known->offset;
    found.errors_offset = known->errors_offset;
  }
  if (given) found.offset = found.errors_offset = *given;
  if (!given && !known) {
    found.note = "where the last result of this job stopped isn't known here: from its start";
  }
  return found;
}

absl::StatusOr<Wait> WaitOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> seconds, arguments.Integer("wait_seconds"));
  if (!seconds) return Wait{.span = kDefaultWait, .note = {}};
  if (*seconds < 0) {
    return absl::InvalidArgumentError("wait_seconds must be 0 or more: 0 doesn't wait at all.");
  }
  if (*seconds <= kMaxWait.count()) {
    return Wait{.span = std::chrono::seconds(*seconds), .note = {}};
  }
  return Wait{.span = kMaxWait,
              .note = StrCat("wait_seconds was lowered to ", kMaxWait.count(),
                             ", the longest that clients wait")};
}

absl::Status ExplainJobError(const absl::Status& status) {
  if (absl::IsNotFound(status)) return NoSuchJob();
  if (absl::IsOutOfRange(status)) {
    return absl::OutOfRangeError(
        "offset is past the end of what this job has printed: leave it out to go on where its last "
        "result stopped.");
  }
  return status;
}

}  // namespace sandkeep::mcp
