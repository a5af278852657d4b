#include "gateway/mcp/tool_result.h"

#include "common/strings.h"
#include "gateway/mcp/base64.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {
namespace {

void AppendBlock(std::string* out, const TextBlock& block) {
  *out += R"({"type":"text","text":)";
  AppendJsonString(out, block.text);
  *out += "}";
}

void AppendBlock(std::string* out, const ImageBlock& block) {
  *out += R"({"type":"image","data":")";
  *out += Base64(block.bytes);
  *out += R"(","mimeType":)";
  AppendJsonString(out, block.mime_type);
  *out += "}";
}

void AppendBlock(std::string* out, const LinkBlock& block) {
  *out += R"({"type":"resource_link","uri":)";
  AppendJsonString(out, block.uri);
  *out += R"(,"name":)";
  AppendJsonString(out, block.name);
  if (!block.title.empty()) {
    *out += R"(,"title":)";
    AppendJsonString(out, block.title);
  }
  *out += R"(,"mimeType":)";
  AppendJsonString(out, block.mime_type);
  StrAppend(out, R"(,"size":)", block.size, "}");
}

}  // namespace

std::string ContentMembers(const ToolResult& result, bool with_links) {
  std::string out = R"("content":[)";
  bool first = true;
  for (const ContentBlock& block : result.content) {
    if (!with_links && std::holds_alternative<LinkBlock>(block)) continue;
    if (!first) out += ",";
    first = false;
    std::visit([&out](const auto& kind) { AppendBlock(&out, kind); }, block);
  }
  out += R"(],"isError":)";
  out += result.is_error ? "true" : "false";
  return out;
}

}  // namespace sandkeep::mcp
