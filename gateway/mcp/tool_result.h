// What a tool call gives back: blocks of content, questions that its client is to answer first, or
// a task whose result the client asks for later. Text only, or text beside images and links;
// nothing structured, since several clients would show only that. Plain values; any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/mcp/content.h"
#include "gateway/mcp/questions.h"
#include "gateway/mcp/task.h"

namespace sandkeep::mcp {

struct ToolResult {
  std::vector<ContentBlock> content;
  bool is_error = false;
  // Then there is no content yet.
  std::optional<Questions> questions = std::nullopt;
  // The same. Only for a client that declares tasks.
  std::optional<Task> task = std::nullopt;

  static ToolResult Text(std::string text) { return ToolResult{{TextBlock{std::move(text)}}}; }
};

// The result's members as JSON, without the braces around them: `"content":[…],"isError":…`. Links
// as blocks of their own came with 2025-06-18; before, their text has to do.
std::string ContentMembers(const ToolResult& result, bool with_links);

}  // namespace sandkeep::mcp
