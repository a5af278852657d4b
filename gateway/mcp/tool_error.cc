#include "gateway/mcp/tool_error.h"

#include <string>

#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

// How agent/client begins when nobody answers; what follows is for the journal.
constexpr std::string_view kNobodyThere = "sandkeep-agent isn't answering";

std::string WithFullStop(std::string message) {
  const bool ended =
      !message.empty() && std::string_view(".?!").find(message.back()) != std::string_view::npos;
  // A shell line stands at the end by itself.
  if (!ended && message.find('\n') == std::string::npos) message += '.';
  return message;
}

}  // namespace

std::string SentenceOf(const absl::Status& status) {
  std::string message = ToValidUtf8(ToStd(status.message()));
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (message.substr(0, kNobodyThere.size()) == kNobodyThere) {
        message = "The agent, which owns the sandboxes, isn't running or isn't answering";
      }
      return StrCat(message,
                    ": try again in a few seconds; if that doesn't help, tell the person to look "
                    "at the sandkeep-agent service.");
    case absl::StatusCode::kDeadlineExceeded:
      return "The agent took too long to answer: try again in a minute.";
    case absl::StatusCode::kUnimplemented:
      return "The agent is of another version and can't do this: tell the person to update it.";
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return StrCat("The service failed (", message,
                    "): try again; if that doesn't help, tell the person to look at its journal.");
    default:
      return WithFullStop(std::move(message));
  }
}

ToolResult ErrorResult(std::string_view sandbox, const absl::Status& status) {
  std::string text;
  if (!sandbox.empty()) text = StrCat("[sandbox ", sandbox, "] ");
  text += SentenceOf(status);
  ToolResult result = ToolResult::Text(std::move(text));
  result.is_error = true;
  return result;
}

}  // namespace sandkeep::mcp
