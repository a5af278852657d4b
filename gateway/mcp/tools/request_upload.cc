#include "gateway/mcp/tools/request_upload.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/profile_words.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Ask the person for files: gives the address of a page on which they drop or pick them, "
    "folders too, in any size up to max_bytes. Put it into your answer, then call wait_upload. The "
    "bytes go straight into the sandbox: use this for every file that isn't a short text.";

}  // namespace

ToolDescription RequestUpload::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Ask for files";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] = Property(
      "string",
      "Where the files go: a folder below /workspace (with a slash at its end if it isn't there "
      "yet), or the name that one file gets. Left out, /workspace.");
  description.properties["max_bytes"] = IntegerProperty(
      1, StrCat("What all files together may have; left out, ", kDefaultUploadBytes, "."));
  description.required = {"sandbox"};
  return description;
}

Async<bool> RequestUpload::IsFolder(FileArgument target, bool named_so) {
  if (target.path.empty()) co_return true;
  v1::StatFileRequest request;
  *request.mutable_sandbox() = std::move(target.sandbox);
  request.set_path(target.path.bytes());
  const absl::StatusOr<v1::FileInfo> info = co_await agent_.StatFile(std::move(request));
  if (absl::IsNotFound(info.status())) co_return named_so;
  CO_RETURN_IF_ERROR(info.status());
  const bool folder = info->type() == v1::FileInfo::DIRECTORY;
  if (named_so && !folder) co_return absl::InvalidArgumentError("There is a file of this name.");
  co_return folder;
}

Async<ToolResult> RequestUpload::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "max_bytes"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFolderOrNone));
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> text, arguments.Text("path"));
  const bool named_so = text.has_value() && !text->empty() && text->back() == '/';
  CO_ASSIGN_OR_RETURN(const bool folder, co_await IsFolder(target, named_so));
  CO_ASSIGN_OR_RETURN(const std::optional<std::int64_t> most, arguments.Integer("max_bytes"));
  UploadRequest request;
  request.principal = context.principal().text();
  request.label = context.sandbox;
  request.path = target.path.bytes();
  request.folder = folder;
  request.max_bytes =
      std::clamp<std::int64_t>(most.value_or(kDefaultUploadBytes), 1, kMaxUploadBytes);
  const std::int64_t max_bytes = request.max_bytes;
  CO_ASSIGN_OR_RETURN(const OpenedUpload opened, co_await uploads_.Open(std::move(request)));
  const std::string url = StrCat(context.request.public_base, opened.path);
  co_return ToolResult::Text(
      StrCat(FactsLine(context, false), "Upload ", opened.name, " to ",
             InProfile(context, ShownPath(target.path.bytes())), folder ? "/" : "", ", ",
             SizeInWords(max_bytes), " at most. The page works for ", InWords(opened.lifetime),
             " after each piece that arrives.\nThe person doesn't see this "
             "result: put this line into your answer, then call wait_upload with upload ",
             opened.name, ".\n[Hand over files](", url, ")\nFrom a terminal: curl -T FILE ", url));
}

}  // namespace sandkeep::mcp
