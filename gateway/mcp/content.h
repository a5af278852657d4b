// The blocks that results and prompts are made of, for the model and for the client. Plain values;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace sandkeep::mcp {

struct TextBlock {
  std::string text;  // UTF-8.
};

struct ImageBlock {
  std::string bytes;
  std::string mime_type;
};

struct AudioBlock {
  std::string bytes;
  std::string mime_type;
};

struct LinkBlock {
  std::string uri;
  std::string name;
  std::string title;  // Empty: none.
  std::string mime_type;
  std::int64_t size = 0;  // -1: nobody knows yet.
};

// What a resource holds. Text must be UTF-8.
struct ResourceContent {
  std::string uri;
  std::string mime_type;
  std::string bytes;
  bool is_text = false;
};

using ContentBlock = std::variant<TextBlock, ImageBlock, AudioBlock, LinkBlock, ResourceContent>;

// As a JSON object. A resource stands inside a block of its own kind.
void AppendBlock(std::string* out, const ContentBlock& block);
// As resources/read shows it.
void AppendResourceContent(std::string* out, const ResourceContent& content);

}  // namespace sandkeep::mcp
