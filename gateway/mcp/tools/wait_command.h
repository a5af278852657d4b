// wait_command: more of a job that was handed back, and its end. Ends nothing, whatever its client
// does.
#pragma once

#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class WaitCommand : public Tool {
 public:
  explicit WaitCommand(const JobServices& services) : services_(services) {}

  std::string_view name() const override { return "wait_command"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  const JobServices& services_;
};

}  // namespace sandkeep::mcp
