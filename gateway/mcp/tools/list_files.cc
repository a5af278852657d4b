#include "gateway/mcp/tools/list_files.h"

#include <utility>

#include "absl/time/time.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "List the files of a folder below /workspace, the last changed first, with size and time "
    "(UTC). With a pattern, those below the folder that match it: * and ? within a name, [abc], "
    "** for any folders, as in **/*.py.";

std::string SizeColumn(const v1::FileInfo& file) {
  switch (file.type()) {
    case v1::FileInfo::DIRECTORY:
      return "folder";
    case v1::FileInfo::REGULAR:
      return SizeInWords(file.size());
    default:
      return "link or device";
  }
}

std::string Row(const v1::FileInfo& file) {
  const std::string time = absl::FormatTime(
      "%Y-%m-%d %H:%M:%S", absl::FromUnixMillis(file.modified_ms()), absl::UTCTimeZone());
  return StrCat(time, "  ", SizeColumn(file), "  ", ShownPath(file.path()),
                file.type() == v1::FileInfo::DIRECTORY ? "/\n" : "\n");
}

}  // namespace

ToolDescription ListFiles::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "List files";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] = Property("string", "The folder; left out, /workspace.");
  description.properties["pattern"] =
      Property("string", "Relative to the folder; left out, all that is in it.");
  description.required = {"sandbox"};
  description.read_only = true;
  description.idempotent = true;
  return description;
}

Async<ToolResult> ListFiles::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "pattern"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFolderOrNone));
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> pattern, arguments.Text("pattern"));
  v1::ListFilesRequest request;
  *request.mutable_sandbox() = target.sandbox;
  request.set_path(target.path.bytes());
  request.set_pattern(pattern.value_or(""));
  request.set_limit(kShownFiles);
  request.set_newest_first(true);
  absl::StatusOr<v1::ListFilesResponse> found = co_await agent_.ListFiles(request);
  if (absl::IsNotFound(found.status()) && !target.path.empty()) {
    const auto folder = co_await FindFile(agent_, target.sandbox, target.path);
    CO_RETURN_IF_ERROR(folder.status());
    if (folder->type() == v1::FileInfo::REGULAR) {
      co_return ToolResult::Text(StrCat(FactsLine(context, false), Row(*folder)));
    }
    request.set_path(folder->path());
    found = co_await agent_.ListFiles(request);
  }
  CO_RETURN_IF_ERROR(found.status());
  std::string text = FactsLine(context, false);
  if (found->truncated()) {
    StrAppend(&text, "note: these ", found->files_size(),
              " are the last changed of many: name a folder or a narrower pattern for others\n");
  }
  if (found->files_size() == 0) {
    StrAppend(&text, pattern.value_or("").empty() ? "The folder is empty." : "Nothing matches.");
  }
  for (const v1::FileInfo& file : found->files()) StrAppend(&text, Row(file));
  co_return ToolResult::Text(std::move(text));
}

}  // namespace sandkeep::mcp
