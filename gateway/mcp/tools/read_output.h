// read_output: a part of what a job has printed, without waiting.
#pragma once

#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class ReadOutput : public Tool {
 public:
  explicit ReadOutput(const JobServices& services) : services_(services) {}

  std::string_view name() const override { return "read_output"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  const JobServices& services_;
};

}  // namespace sandkeep::mcp
