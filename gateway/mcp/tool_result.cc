#include "gateway/mcp/tool_result.h"

namespace sandkeep::mcp {

std::string ContentMembers(const ToolResult& result, bool with_links) {
  std::string out = R"("content":[)";
  bool first = true;
  for (const ContentBlock& block : result.content) {
    if (!with_links && std::holds_alternative<LinkBlock>(block)) continue;
    if (!first) out += ",";
    first = false;
    AppendBlock(&out, block);
  }
  out += R"(],"isError":)";
  out += result.is_error ? "true" : "false";
  return out;
}

}  // namespace sandkeep::mcp
