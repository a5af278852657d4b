// Tools whose result is always the same.
#include <memory>
#include <string>
#include <utility>

#include "gateway/mcp/base64.h"
#include "tests/conformance/fixtures.h"

namespace sandkeep::mcp {
namespace {

class FixedTool : public Tool {
 public:
  FixedTool(std::string_view name, ToolResult result) : name_(name), result_(std::move(result)) {}

  std::string_view name() const override { return name_; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    ToolDescription description;
    description.title = std::string(name_);
    description.text = "For the conformance suite: its result is always the same.";
    description.read_only = true;
    description.idempotent = true;
    return description;
  }
  Async<ToolResult> Call(CallContext& /*context*/, Arguments /*arguments*/) override {
    co_return result_;
  }

 private:
  const std::string_view name_;
  const ToolResult result_;
};

ToolResult One(ContentBlock block) {
  ToolResult result;
  result.content.push_back(std::move(block));
  return result;
}

ImageBlock Image() { return {.bytes = std::string(FixtureImage()), .mime_type = "image/png"}; }

AudioBlock Audio() {
  return {
      .bytes = FromBase64("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=").value(),
      .mime_type = "audio/wav"};
}

ResourceContent Embedded() {
  return {.uri = "test://embedded-resource",
          .mime_type = "text/plain",
          .bytes = "This is an embedded resource content.",
          .is_text = true};
}

ToolResult Mixed() {
  ToolResult result = ToolResult::Text("Multiple content types test:");
  result.content.push_back(Image());
  result.content.push_back(ResourceContent{.uri = "test://mixed-content-resource",
                                           .mime_type = "application/json",
                                           .bytes = R"({"test":"data","value":123})",
                                           .is_text = true});
  return result;
}

ToolResult Failed() {
  ToolResult result = ToolResult::Text("This tool intentionally returns an error for testing");
  result.is_error = true;
  return result;
}

}  // namespace

void AddFixedTools(Tools* tools) {
  auto add = [tools](std::string_view name, ToolResult result) {
    tools->push_back(std::make_unique<FixedTool>(name, std::move(result)));
  };
  add("test_simple_text", ToolResult::Text("This is a simple text response for testing."));
  add("test_image_content", One(Image()));
  add("test_audio_content", One(Audio()));
  add("test_embedded_resource", One(Embedded()));
  add("test_multiple_content_types", Mixed());
  add("test_error_handling", Failed());
  add("test_streaming_elicitation", ToolResult::Text("Nothing but this result."));
}

}  // namespace sandkeep::mcp
