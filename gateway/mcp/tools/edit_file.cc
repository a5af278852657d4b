#include "gateway/mcp/tools/edit_file.h"

#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/text_edit.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Replace a text in a file below /workspace by another. old_text must be in it exactly, blanks "
    "and line ends included, and only once, unless replace_all is true. Everything else in the "
    "file stays as it is, to the byte.";

// Two edits at once both land, unless it never ends.
constexpr int kTries = 5;

std::string Summary(const std::vector<std::int64_t>& lines) {
  if (lines.size() == 1) return StrCat("Replaced at line ", lines.front());
  return StrCat("Replaced at ", lines.size(), " places, from line ", lines.front(), " to ",
                lines.back());
}

}  // namespace

ToolDescription EditFile::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Edit a file";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] = Property("string", kPathDescription);
  description.properties["old_text"] = Property("string", "What is in the file now.");
  description.properties["new_text"] = Property("string", "What is to stand there.");
  description.properties["replace_all"] = Property("boolean", "Replace it wherever it is.");
  description.required = {"sandbox", "path", "old_text", "new_text"};
  description.destructive = true;
  return description;
}

Async<ToolResult> EditFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(
      arguments.AllowOnly({"sandbox", "path", "old_text", "new_text", "replace_all"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFile));
  CO_ASSIGN_OR_RETURN(std::optional<std::string> old_text, arguments.Text("old_text"));
  CO_ASSIGN_OR_RETURN(std::optional<std::string> new_text, arguments.Text("new_text"));
  if (!old_text.has_value() || !new_text.has_value()) {
    co_return absl::InvalidArgumentError(
        "Give both old_text and new_text, \"\" to take the text out.");
  }
  Edit edit;
  edit.old_text = *std::move(old_text);
  edit.new_text = *std::move(new_text);
  CO_ASSIGN_OR_RETURN(edit.replace_all, arguments.Flag("replace_all"));
  absl::StatusOr<std::vector<std::int64_t>> lines = absl::AbortedError("not tried");
  for (int tries = 0; tries < kTries && absl::IsAborted(lines.status()); ++tries) {
    lines = co_await Try(target, edit);
  }
  if (absl::IsAborted(lines.status())) {
    co_return absl::AbortedError(
        "Something else keeps writing to this file, and nothing was changed: try again once it has "
        "stopped.");
  }
  CO_RETURN_IF_ERROR(lines.status());
  co_return ToolResult::Text(StrCat(FactsLine(context, false), Summary(*lines), " of ",
                                    ShownPath(target.path.bytes()), "."));
}

Async<std::vector<std::int64_t>> EditFile::Try(FileArgument target, Edit edit) {
  CO_ASSIGN_OR_RETURN(const v1::FileInfo info,
                      co_await FindFile(agent_, target.sandbox, target.path));
  if (info.type() == v1::FileInfo::DIRECTORY) {
    co_return absl::InvalidArgumentError("This is a folder: name a file in it.");
  }
  if (info.size() > kMaxEditedBytes) {
    co_return absl::InvalidArgumentError(StrCat("The file has ", SizeInWords(info.size()),
                                                ", too many to edit it here: use run_command, as "
                                                "with sed -i."));
  }
  CO_ASSIGN_OR_RETURN(const std::string text, co_await ReadWhole(agent_, target.sandbox, info));
  CO_ASSIGN_OR_RETURN(EditedText edited,
                      EditText(text, edit.old_text, edit.new_text, edit.replace_all));
  v1::WriteFileHeader header;
  *header.mutable_sandbox() = target.sandbox;
  header.set_path(info.path());
  header.set_if_etag(info.etag());
  const absl::StatusOr<v1::WriteFileResponse> written =
      co_await WriteWhole(agent_, std::move(header), std::move(edited.text));
  CO_RETURN_IF_ERROR(written.status());
  co_return std::move(edited.lines);
}

}  // namespace sandkeep::mcp
