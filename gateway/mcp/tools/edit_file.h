// edit_file: an exact replacement in a file of a sandbox, on what is there at that moment.
#pragma once

#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class EditFile : public Tool {
 public:
  explicit EditFile(AgentClient& agent) : agent_(agent) {}

  std::string_view name() const override { return "edit_file"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  struct Edit {
    std::string old_text;
    std::string new_text;
    bool replace_all = false;
  };
  // The lines where it was made. Aborted: somebody else wrote meanwhile.
  Async<std::vector<std::int64_t>> Try(FileArgument target, Edit edit);

  AgentClient& agent_;
};

}  // namespace sandkeep::mcp
