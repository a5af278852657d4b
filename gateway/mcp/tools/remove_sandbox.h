// remove_sandbox: a sandbox's container, and its files too if asked.
#pragma once

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class RemoveSandbox : public Tool {
 public:
  explicit RemoveSandbox(AgentClient& agent) : agent_(agent) {}

  std::string_view name() const override { return "remove_sandbox"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
};

}  // namespace sandkeep::mcp
