// list_files: what is in a folder of a sandbox, or matches a pattern below it, newest first.
#pragma once

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class ListFiles : public Tool {
 public:
  explicit ListFiles(AgentClient& agent) : agent_(agent) {}

  std::string_view name() const override { return "list_files"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
};

}  // namespace sandkeep::mcp
