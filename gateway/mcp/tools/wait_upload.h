// wait_upload: what arrived by an upload's page, once something has.
#pragma once

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class WaitUpload : public Tool {
 public:
  WaitUpload(AgentClient& agent, UploadDesk& uploads) : agent_(agent), uploads_(uploads) {}

  std::string_view name() const override { return "wait_upload"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  AgentClient& agent_;
  UploadDesk& uploads_;
};

}  // namespace sandkeep::mcp
