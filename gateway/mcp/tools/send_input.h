// send_input: text for a command that reads its input.
#pragma once

#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class SendInput : public Tool {
 public:
  explicit SendInput(const JobServices& services) : services_(services) {}

  std::string_view name() const override { return "send_input"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  const JobServices& services_;
};

}  // namespace sandkeep::mcp
