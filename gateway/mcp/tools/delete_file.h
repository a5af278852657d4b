// delete_file: a file of a sandbox, or a folder with all that is in it.
#pragma once

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class DeleteFile : public Tool {
 public:
  explicit DeleteFile(AgentClient& agent) : agent_(agent) {}

  std::string_view name() const override { return "delete_file"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
};

}  // namespace sandkeep::mcp
