// sandbox_info: what a caller has here, what it may use, and how its request arrived.
#pragma once

#include "common/clock.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class SandboxInfo : public Tool {
 public:
  SandboxInfo(AgentClient& agent, Clock& clock, Host& host, const EndpointSettings& settings)
      : agent_(agent), clock_(clock), host_(host), settings_(settings) {}

  std::string_view name() const override { return "sandbox_info"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
  Clock& clock_;
  Host& host_;
  const EndpointSettings& settings_;
};

}  // namespace sandkeep::mcp
