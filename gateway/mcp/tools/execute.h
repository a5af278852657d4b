// execute, of the persistent profile: run_command with its streams apart. Any thread.
#pragma once

#include "gateway/mcp/tools/run_command.h"

namespace sandkeep::mcp {

class Execute : public Tool {
 public:
  explicit Execute(const JobServices& services) : run_(services, RunCommand::Streams::kApart) {}

  std::string_view name() const override { return "execute"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  RunCommand run_;
};

}  // namespace sandkeep::mcp
