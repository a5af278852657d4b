#include "gateway/mcp/content.h"

#include <string_view>

#include "common/strings.h"
#include "gateway/mcp/base64.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {
namespace {

// Pictures and sound.
void AppendMedia(std::string* out, std::string_view type, std::string_view bytes,
                 std::string_view mime_type) {
  StrAppend(out, R"({"type":")", type, R"(","data":")", Base64(bytes), R"(","mimeType":)");
  AppendJsonString(out, mime_type);
  *out += "}";
}

void AppendKind(std::string* out, const TextBlock& block) {
  *out += R"({"type":"text","text":)";
  AppendJsonString(out, block.text);
  *out += "}";
}

void AppendKind(std::string* out, const ImageBlock& block) {
  AppendMedia(out, "image", block.bytes, block.mime_type);
}

void AppendKind(std::string* out, const AudioBlock& block) {
  AppendMedia(out, "audio", block.bytes, block.mime_type);
}

void AppendKind(std::string* out, const LinkBlock& block) {
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
  if (block.size >= 0) StrAppend(out, R"(,"size":)", block.size);
  *out += "}";
}

void AppendKind(std::string* out, const ResourceContent& content) {
  *out += R"({"type":"resource","resource":)";
  AppendResourceContent(out, content);
  *out += "}";
}

}  // namespace

void AppendBlock(std::string* out, const ContentBlock& block) {
  std::visit([out](const auto& kind) { AppendKind(out, kind); }, block);
}

void AppendResourceContent(std::string* out, const ResourceContent& content) {
  *out += R"({"uri":)";
  AppendJsonString(out, content.uri);
  *out += R"(,"mimeType":)";
  AppendJsonString(out, content.mime_type);
  if (content.is_text) {
    *out += R"(,"text":)";
    AppendJsonString(out, content.bytes);
  } else {
    StrAppend(out, R"(,"blob":")", Base64(content.bytes), "\"");
  }
  *out += "}";
}

}  // namespace sandkeep::mcp
