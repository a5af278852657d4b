// present_file: a file of a sandbox, for the person by a link, and for the model where it is an
// image or a short text.
#pragma once

#include <string>

#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

// What was done to show the file, and as what.
struct ShownFile {
  std::string words;
  std::string mime_type = {};  // Empty: its name says.
};

class PresentFile : public Tool {
 public:
  PresentFile(AgentClient& agent, LinkMaker& links, const EndpointSettings& settings)
      : agent_(agent), links_(links), settings_(settings) {}

  std::string_view name() const override { return "present_file"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  // Adds the file itself, or a smaller picture of it, where it can be shown.
  Async<ShownFile> Show(agent::v1::SandboxRef sandbox, agent::v1::FileInfo info,
                        ToolResult& result);

  AgentClient& agent_;
  LinkMaker& links_;
  const EndpointSettings& settings_;
};

}  // namespace sandkeep::mcp
