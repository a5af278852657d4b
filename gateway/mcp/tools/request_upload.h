// request_upload: a page on which the person hands files to a sandbox, without the model in
// between.
#pragma once

#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class RequestUpload : public Tool {
 public:
  RequestUpload(AgentClient& agent, UploadDesk& uploads) : agent_(agent), uploads_(uploads) {}

  std::string_view name() const override { return "request_upload"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  // Whether it is a folder, be it there already or by its name.
  Async<bool> IsFolder(FileArgument target, bool named_so);

  AgentClient& agent_;
  UploadDesk& uploads_;
};

}  // namespace sandkeep::mcp
