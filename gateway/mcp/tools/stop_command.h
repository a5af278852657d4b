// stop_command: ends a job's processes, those that it left behind too, or sends them a signal.
#pragma once

#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class StopCommand : public Tool {
 public:
  explicit StopCommand(const JobServices& services) : services_(services) {}

  std::string_view name() const override { return "stop_command"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  const JobServices& services_;
};

}  // namespace sandkeep::mcp
