// What a tool call gives back: blocks of content, for the model and for the client. Text only, or
// text beside images and links; nothing structured, since several clients would show only that.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sandkeep::mcp {

struct TextBlock {
  std::string text;  // UTF-8.
};

struct ImageBlock {
  std::string bytes;
  std::string mime_type;
};

struct LinkBlock {
  std::string uri;
  std::string name;
  std::string title;  // Empty: none.
  std::string mime_type;
  std::int64_t size = 0;
};

using ContentBlock = std::variant<TextBlock, ImageBlock, LinkBlock>;

struct ToolResult {
  std::vector<ContentBlock> content;
  bool is_error = false;

  static ToolResult Text(std::string text) { return ToolResult{{TextBlock{std::move(text)}}}; }
};

// The result's members as JSON, without the braces around them: `"content":[…],"isError":…`. Links
// as blocks of their own came with 2025-06-18; before, their text has to do.
std::string ContentMembers(const ToolResult& result, bool with_links);

}  // namespace sandkeep::mcp
