#include "gateway/mcp/tools/send_input.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Write to the input of a running command that was started with keep_stdin, as if typed: end "
    "lines with a newline. wait_command shows what it answers.";

absl::StatusOr<std::string> TextOf(const Arguments& arguments, bool end) {
  ASSIGN_OR_RETURN(std::optional<std::string> text, arguments.Text("text"));
  if (!end && (!text || text->empty())) {
    return absl::InvalidArgumentError(
        "There is nothing to send: give text, or end to close the command's input.");
  }
  return std::move(text).value_or(std::string());
}

absl::Status Explain(const absl::Status& status, std::size_t sent) {
  const std::string done =
      sent == 0 ? "Nothing was sent" : StrCat("Only ", sent, " bytes were sent");
  if (absl::IsFailedPrecondition(status)) {
    return absl::FailedPreconditionError(
        StrCat(done, ", since ", ToStd(status.message()),
               ": start it again with keep_stdin, or with all of its input as stdin."));
  }
  if (absl::IsResourceExhausted(status)) {
    return absl::ResourceExhaustedError(StrCat(done, ", since ", ToStd(status.message()), "."));
  }
  return ExplainJobError(status);
}

}  // namespace

ToolDescription SendInput::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Send input to a command";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["job"] = Property("string", kJobDescription);
  description.properties["text"] = Property("string", "What to write, as it stands.");
  description.properties["end"] = Property("boolean", "Close the input after it.");
  description.required = {"sandbox"};
  description.destructive = true;
  description.open_world = true;
  return description;
}

Async<ToolResult> SendInput::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "job", "text", "end"}));
  CO_ASSIGN_OR_RETURN(const bool end, arguments.Flag("end"));
  CO_ASSIGN_OR_RETURN(const std::string text, TextOf(arguments, end));
  CO_ASSIGN_OR_RETURN(const NamedJob named,
                      co_await RequireJob(services_.agent, context, arguments));
  std::size_t sent = 0;
  do {
    const std::size_t size = std::min(text.size() - sent, kMaxInputBytes);
    v1::SendInputRequest request;
    *request.mutable_sandbox() = named.sandbox;
    request.set_job_id(named.id.bytes());
    request.set_data(text.substr(sent, size));
    request.set_end(end && sent + size == text.size());
    const auto answer = co_await services_.agent.SendInput(std::move(request));
    if (!answer.ok()) co_return Explain(answer.status(), sent);
    sent += size;
  } while (sent < text.size());
  co_return ToolResult::Text(
      StrCat("[sandbox ", context.sandbox, "] [running] [job ", named.id.hex(), "]\n", sent,
             sent == 1 ? " byte sent" : " bytes sent", end ? ", its input is closed" : ""));
}

}  // namespace sandkeep::mcp
