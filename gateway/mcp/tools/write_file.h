// write_file: a file of a sandbox, whole or more of it, byte by byte as given.
#pragma once

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class WriteFile : public Tool {
 public:
  explicit WriteFile(AgentClient& agent) : agent_(agent) {}

  std::string_view name() const override { return "write_file"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
};

}  // namespace sandkeep::mcp
