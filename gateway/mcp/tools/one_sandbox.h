// The persistent profile's tools: those of the conversation profile, for the one sandbox that a
// principal has there, so without a label. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

// The label that nobody has to give.
inline constexpr std::string_view kOnlySandbox = "main";

class OneSandbox : public Tool {
 public:
  // `inner` outlives it. `name`: empty for the inner tool's own.
  explicit OneSandbox(Tool& inner, std::string_view name = {})
      : inner_(inner), name_(name.empty() ? inner.name() : name) {}

  std::string_view name() const override { return name_; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  Tool& inner_;
  const std::string_view name_;
};

}  // namespace sandkeep::mcp
