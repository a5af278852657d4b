#include "gateway/mcp/tools/write_file.h"

#include <utility>

#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/base64.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Write a file below /workspace: exactly the content given, whole or not at all, in place of "
    "what was there. Folders on the way are made. For a change in a file use edit_file; for "
    "anything large let run_command make it.";

// An append meets another writer; then the next try begins from what that one left.
constexpr int kTries = 3;

absl::StatusOr<std::string> ContentOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(std::optional<std::string> content, arguments.Text("content"));
  if (!content.has_value()) {
    return absl::InvalidArgumentError("The content is missing: give it, \"\" for an empty file.");
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> encoding, arguments.Text("encoding"));
  if (!encoding.has_value() || encoding->empty() || *encoding == "utf-8") {
    return *std::move(content);
  }
  if (*encoding != "base64") {
    return absl::InvalidArgumentError("Give encoding as utf-8 or base64.");
  }
  std::optional<std::string> bytes = FromBase64(*content);
  if (!bytes.has_value()) {
    return absl::InvalidArgumentError(
        "The content is no base64 (RFC 4648, padded, on one line): long ones are easily garbled, "
        "so let run_command make the file instead.");
  }
  return *std::move(bytes);
}

std::string_view Done(bool append, bool created) {
  if (created) return "Made ";
  return append ? "Appended to " : "Replaced ";
}

}  // namespace

ToolDescription WriteFile::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Write a file";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] = Property("string", kPathDescription);
  description.properties["content"] = Property("string", "All that is to be in the file.");
  description.properties["encoding"] =
      Property("string", "utf-8 (the default), or base64 for bytes that are no text.");
  description.properties["append"] =
      Property("boolean", "Add the content at the file's end instead of replacing it.");
  description.required = {"sandbox", "path", "content"};
  description.destructive = true;
  return description;
}

Async<ToolResult> WriteFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "content", "encoding", "append"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFile));
  CO_ASSIGN_OR_RETURN(const std::string content, ContentOf(arguments));
  CO_ASSIGN_OR_RETURN(const bool append, arguments.Flag("append"));
  v1::WriteFileHeader header;
  *header.mutable_sandbox() = target.sandbox;
  header.set_path(target.path.bytes());
  header.set_append(append);
  header.set_make_parents(true);
  absl::StatusOr<v1::WriteFileResponse> written = absl::AbortedError("not tried");
  for (int tries = 0; tries < kTries && absl::IsAborted(written.status()); ++tries) {
    written = co_await WriteWhole(agent_, header, content);
  }
  CO_RETURN_IF_ERROR(written.status());
  co_return ToolResult::Text(
      StrCat(FactsLine(context, written->new_sandbox()), Done(append, written->created()),
             ShownPath(target.path.bytes()), ", ", SizeInWords(written->info().size()), "."));
}

}  // namespace sandkeep::mcp
