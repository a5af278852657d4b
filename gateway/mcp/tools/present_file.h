// present_file: a file of a sandbox, for the person by a link, and for the model where it is an
// image or a short text.
#pragma once

#include "common/rel_path.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class PresentFile : public Tool {
 public:
  PresentFile(AgentClient& agent, LinkMaker& links, const EndpointSettings& settings)
      : agent_(agent), links_(links), settings_(settings) {}

  std::string_view name() const override { return "present_file"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  // Its bytes if they may be worth showing; empty otherwise.
  Async<std::string> Contents(agent::v1::SandboxRef sandbox, agent::v1::FileInfo info);

  AgentClient& agent_;
  LinkMaker& links_;
  const EndpointSettings& settings_;
};

}  // namespace sandkeep::mcp
