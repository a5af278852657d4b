#include "gateway/mcp/tools/delete_file.h"

#include <utility>

#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Delete a file below /workspace, or a folder with all that is in it if recursive is true. "
    "There is no way back. A symlink goes itself, never what it points to.";

}  // namespace

ToolDescription DeleteFile::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Delete a file";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] = Property("string", kPathDescription);
  description.properties["recursive"] = Property("boolean", "Needed for a folder.");
  description.required = {"sandbox", "path"};
  description.destructive = true;
  description.idempotent = true;
  return description;
}

Async<ToolResult> DeleteFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "recursive"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFile));
  CO_ASSIGN_OR_RETURN(const bool recursive, arguments.Flag("recursive"));
  v1::DeleteFileRequest request;
  *request.mutable_sandbox() = target.sandbox;
  request.set_path(target.path.bytes());
  request.set_recursive(recursive);
  absl::StatusOr<v1::DeleteFileResponse> deleted = co_await agent_.DeleteFile(request);
  if (absl::IsNotFound(deleted.status())) {
    // With the nearest names, unless one reads alike.
    CO_ASSIGN_OR_RETURN(const v1::FileInfo found,
                        co_await FindFile(agent_, target.sandbox, target.path));
    request.set_path(found.path());
    deleted = co_await agent_.DeleteFile(request);
  }
  CO_RETURN_IF_ERROR(deleted.status());
  const std::int64_t others = deleted->removed() - 1;
  std::string text = StrCat(FactsLine(context, false), "Deleted ", ShownPath(request.path()));
  if (others > 0) {
    StrAppend(&text, " with ", others, others == 1 ? " entry" : " entries", " in it");
  }
  co_return ToolResult::Text(StrCat(text, "."));
}

}  // namespace sandkeep::mcp
