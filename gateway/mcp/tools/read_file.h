// read_file: lines of a text file of a sandbox, as they are.
#pragma once

#include "gateway/mcp/tools/line_window.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class ReadFile : public Tool {
 public:
  ReadFile(AgentClient& agent, const EndpointSettings& settings)
      : agent_(agent), settings_(settings) {}

  std::string_view name() const override { return "read_file"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  // How far it came into the file, which ends there or not.
  Async<std::int64_t> Fill(LineWindow& window, agent::v1::SandboxRef sandbox,
                           agent::v1::FileInfo info);

  AgentClient& agent_;
  const EndpointSettings& settings_;
};

}  // namespace sandkeep::mcp
