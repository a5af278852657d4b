// An error of ours as a result that the model sees: the sandbox if it is known, and one sentence
// that says what to do. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gateway/mcp/tool_result.h"

namespace sandkeep::mcp {

// The sentence alone.
std::string SentenceOf(const absl::Status& status);

ToolResult ErrorResult(std::string_view sandbox, const absl::Status& status);

}  // namespace sandkeep::mcp
