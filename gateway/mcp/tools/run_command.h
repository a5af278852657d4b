// run_command: one command in a sandbox, to its end.
#pragma once

#include "common/clock.h"
#include "common/random.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class RunCommand : public Tool {
 public:
  RunCommand(AgentClient& agent, Clock& clock, Random& random, const EndpointSettings& settings)
      : agent_(agent), clock_(clock), random_(random), settings_(settings) {}

  std::string_view name() const override { return "run_command"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
  Clock& clock_;
  Random& random_;
  const EndpointSettings& settings_;
};

}  // namespace sandkeep::mcp
