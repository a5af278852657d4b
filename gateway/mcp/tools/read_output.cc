#include "gateway/mcp/tools/read_output.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/tools/job_answer.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/job_text.h"
#include "gateway/mcp/tools/output_window.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Read any part of what a command has printed, while it runs or after its end, without waiting. "
    "For the middle that a result left out, and for a result that was lost.";

// A character has four bytes at most, a colour a few more: a part is never less than one of them.
constexpr std::int64_t kLeastPartBytes = 16;

absl::StatusOr<std::int64_t> LimitOf(const Arguments& arguments, std::size_t most) {
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> limit, arguments.Integer("limit"));
  if (limit && *limit < 1) {
    return absl::InvalidArgumentError(
        StrCat("limit must be at least 1: leave it out for ", most, " bytes."));
  }
  const auto ceiling = static_cast<std::int64_t>(std::min(most, kMaxReadOutputBytes));
  return std::clamp(limit.value_or(ceiling), kLeastPartBytes, ceiling);
}

// The part that was read, and where the next begins; nullopt: there is no more, and never will be.
std::optional<std::int64_t> Fill(OutputWindow* window, const v1::ReadOutputResponse& part) {
  window->Append(part.offset(), part.data());
  const v1::Job& job = part.job();
  // What a job counts is of both streams, where it has two.
  const bool all = window->end() >= job.output_bytes() || part.data().empty();
  if (all && part.gaps().empty() && job.state() == v1::Job::ENDED) {
    window->Finish();
    return std::nullopt;
  }
  const bool nothing_whole = window->resume() <= part.offset() && !part.data().empty();
  if (nothing_whole) window->Finish();
  return window->resume();
}

std::string GapNote(const v1::JobGap& gap) {
  return StrCat("bytes ", gap.from(), " to ", gap.to(),
                " are gone: of so much output only the beginning and the end are kept");
}

std::string FactsOf(const v1::Job& job, std::string_view label, const JobId& id,
                    std::optional<std::int64_t> next) {
  std::string line = StrCat("[sandbox ", label, "]");
  for (const std::string& field : EndFields(job)) AppendField(&line, field);
  AppendField(&line, StrCat("job ", id.hex()));
  if (next) AppendField(&line, StrCat("next offset ", *next));
  return line;
}

}  // namespace

ToolDescription ReadOutput::Describe(const v1::Info* host) const {
  ToolDescription description;
  description.title = "Read a command's output";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["job"] = Property("string", kJobDescription);
  description.properties["offset"] = IntegerProperty(0, kOffsetDescription);
  description.properties["limit"] = IntegerProperty(
      1,
      StrCat("Bytes to read; left out, and at most, ", services_.settings.max_output_bytes, "."));
  if (IsPersistent(host)) {
    description.properties["stderr"] = Property("boolean", "Read stderr instead of stdout.");
  }
  description.required = {"sandbox"};
  description.read_only = true;
  description.result_chars = ResultChars(services_.settings);
  return description;
}

Async<ToolResult> ReadOutput::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "job", "offset", "limit", "stderr"}));
  CO_ASSIGN_OR_RETURN(const bool errors, arguments.Flag("stderr"));
  const std::size_t most = services_.settings.max_output_bytes;
  CO_ASSIGN_OR_RETURN(const std::int64_t limit, LimitOf(arguments, most));
  CO_ASSIGN_OR_RETURN(const NamedJob named,
                      co_await RequireJob(services_.agent, context, arguments));
  CO_ASSIGN_OR_RETURN(JobOffset begin, OffsetOf(services_, context, named, arguments));
  std::int64_t& position = errors ? begin.errors_offset : begin.offset;
  v1::ReadOutputRequest request;
  *request.mutable_sandbox() = named.sandbox;
  request.set_job_id(named.id.bytes());
  request.set_offset(position);
  if (errors) request.set_stream(v1::STDERR);
  request.set_limit(limit);
  const absl::StatusOr<v1::ReadOutputResponse> part =
      co_await services_.agent.ReadOutput(std::move(request));
  if (!part.ok()) co_return ExplainJobError(part.status());

  OutputWindow window(most, part->offset());
  const std::optional<std::int64_t> next = Fill(&window, *part);
  position = next.value_or(window.end());
  services_.positions.Set(
      context.principal(), named.id,
      {.offset = begin.offset, .errors_offset = begin.errors_offset, .ends = begin.ends});
  std::string link;
  if (window.NeedsLink()) {
    const v1::Sandbox unknown;
    link = co_await OutputLinkOf(services_, context, named, unknown, errors);
  }
  std::string text = FactsOf(part->job(), context.sandbox, named.id, next);
  AppendNote(&text, begin.note);
  for (const v1::JobGap& gap : part->gaps()) AppendNote(&text, GapNote(gap));
  if (part->data().empty()) AppendNote(&text, "there is nothing more so far");
  const OutputWindow::Text output =
      window.Render({.job = named.id.hex(), .link = link, .errors = errors});
  if (!output.text.empty()) StrAppend(&text, "\n", output.text);
  co_return ToolResult::Text(std::move(text));
}

}  // namespace sandkeep::mcp
