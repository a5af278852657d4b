#include "gateway/mcp/tools/present_file.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/image_type.h"
#include "gateway/mcp/tools/nearest_names.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"
#include "gateway/mcp/tools/workspace_path.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Hand a file below /workspace to the person: makes a download link that works for a limited "
    "time, and shows you the file if it is an image or a short text. The person doesn't see the "
    "result: put the Markdown line that it gives into your answer. Put a folder into an archive "
    "first.";

absl::Status NotAFile(const RelPath& path) {
  const std::string folder = path.empty() ? "." : path.bytes();
  const std::string archive = path.empty() ? "workspace" : std::string(path.Name());
  return absl::InvalidArgumentError(StrCat(
      "This is a folder: put it into an archive with run_command, then present that.\n",
      "cd /workspace && tar -czf ", ShellQuoted(StrCat(archive, ".tar.gz")),
      " --exclude=", ShellQuoted(StrCat("./", archive, ".tar.gz")), " -- ", ShellQuoted(folder)));
}

// Text inside the brackets of a Markdown link.
std::string MarkdownText(std::string_view text) {
  std::string escaped;
  for (const char c : OneLine(text, kMaxCaptionBytes)) {
    if (std::string_view("\\[]`*_<>!").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

bool IsText(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && IsUtf8(bytes);
}

// What the model is told and shown, in the order of the result.
struct Presented {
  std::string sandbox;
  std::string name;
  std::string caption;
  std::string mime_type;
  std::string uri;
  std::int64_t size = 0;
  std::chrono::seconds lifetime{0};
};

std::string LinkText(const Presented& file, std::string_view shown) {
  const std::string words = file.caption.empty() ? file.name : file.caption;
  return StrCat("[sandbox ", file.sandbox, "]\n", OneLine(file.name, kMaxNameBytes), ", ",
                SizeInWords(file.size), ", ", file.mime_type, ". The link works for ",
                InWords(file.lifetime), "; present the file again for a new one.", shown,
                "\nThe person doesn't see this result: put this line into your answer.\n[",
                MarkdownText(words), "](", file.uri, ")");
}

void AddImage(std::string bytes, const ImageType& type, ToolResult* result) {
  result->content.emplace_back(ImageBlock{std::move(bytes), std::string(type.mime_type)});
}

// Adds the file itself where it can be shown; the words say what was done, or why not.
std::string_view Show(std::string bytes, std::int64_t size, const EndpointSettings& settings,
                      ToolResult* result) {
  if (size == 0) return " The file is empty.";
  if (bytes.empty()) return " It is too large to be shown here.";
  if (const std::optional<ImageType> type = ImageTypeOf(bytes)) {
    if (bytes.size() > settings.image_max_bytes) return " The image is too large to be shown here.";
    if (std::max(type->width, type->height) > kMaxImagePixels) {
      return " The image has too many pixels to be shown here: make a smaller copy to see it.";
    }
    AddImage(std::move(bytes), *type, result);
    return " The image follows.";
  }
  if (!IsText(bytes)) return {};
  if (bytes.size() > settings.inline_max_bytes) return " It is too large to be shown here.";
  result->content.emplace_back(TextBlock{std::move(bytes)});
  return " Its text follows.";
}

}  // namespace

ToolDescription PresentFile::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Present a file";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] =
      Property("string", "The file's path, relative to /workspace or below it.");
  description.properties["caption"] =
      Property("string", "What the link says; left out, the file's name.");
  description.required = {"sandbox", "path"};
  description.idempotent = true;
  return description;
}

Async<ToolResult> PresentFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "caption"}));
  CO_ASSIGN_OR_RETURN(const v1::SandboxRef sandbox,
                      co_await RequireSandbox(agent_, context, arguments));
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> path_text, arguments.Text("path"));
  CO_ASSIGN_OR_RETURN(const RelPath path, WorkspacePath(path_text.value_or("")));
  if (path.empty()) co_return NotAFile(path);
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> caption, arguments.Text("caption"));
  CO_ASSIGN_OR_RETURN(const v1::FileInfo info, co_await Find(sandbox, path));
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await Contents(sandbox, info));

  Presented file;
  file.sandbox = context.sandbox;
  const std::string_view found = info.path();
  file.name = ToValidUtf8(found.substr(found.rfind('/') + 1));
  file.caption = caption.value_or("");
  file.size = info.size();
  file.lifetime = links_.lifetime();
  file.uri = links_.Make(context.request.public_base, info.key(), info.generation(), found);
  if (const auto image = ImageTypeOf(bytes)) file.mime_type = std::string(image->mime_type);
  if (file.mime_type.empty()) file.mime_type = settings_.mime_type_of(file.name);

  ToolResult result;
  result.content.emplace_back(TextBlock{});
  const std::string_view shown = Show(std::move(bytes), info.size(), settings_, &result);
  std::get<TextBlock>(result.content.front()).text = LinkText(file, shown);
  result.content.emplace_back(LinkBlock{.uri = file.uri,
                                        .name = file.name,
                                        .title = OneLine(file.caption, kMaxCaptionBytes),
                                        .mime_type = file.mime_type,
                                        .size = file.size});
  co_return result;
}

Async<v1::FileInfo> PresentFile::Find(v1::SandboxRef sandbox, RelPath path) {
  v1::StatFileRequest request;
  *request.mutable_sandbox() = sandbox;
  request.set_path(path.bytes());
  absl::StatusOr<v1::FileInfo> info = co_await agent_.StatFile(std::move(request));
  if (absl::IsNotFound(info.status())) co_return co_await Missing(sandbox, path);
  if (!info.ok()) co_return info.status();
  if (info->type() == v1::FileInfo::DIRECTORY) co_return NotAFile(path);
  if (info->type() != v1::FileInfo::REGULAR) {
    co_return absl::InvalidArgumentError(
        "This is no regular file: write what you want to present into one.");
  }
  // The agent's own path stays: it may differ in what looks the same.
  if (info->path().empty()) info->set_path(path.bytes());
  co_return info;
}

Async<v1::ListFilesResponse> PresentFile::Neighbours(v1::SandboxRef sandbox, RelPath path) {
  v1::ListFilesRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  const std::size_t slash = path.bytes().rfind('/');
  if (slash != std::string::npos) request.set_path(path.bytes().substr(0, slash));
  request.set_limit(kMaxSearchedFiles);
  auto beside = co_await agent_.ListFiles(request);
  if (!absl::IsNotFound(beside.status()) || request.path().empty()) co_return beside;
  // Its folder isn't there either: the workspace itself.
  request.clear_path();
  co_return co_await agent_.ListFiles(std::move(request));
}

boost::asio::awaitable<absl::Status> PresentFile::Missing(v1::SandboxRef sandbox, RelPath path) {
  const absl::StatusOr<v1::ListFilesResponse> answer =
      co_await Neighbours(std::move(sandbox), path);
  if (absl::IsNotFound(answer.status())) {
    co_return absl::NotFoundError(
        "This sandbox has no files yet: check the label, or make the file with run_command first.");
  }
  std::vector<std::string> paths;
  if (answer.ok()) {
    for (const v1::FileInfo& file : answer->files()) {
      if (file.type() == v1::FileInfo::REGULAR) paths.push_back(ToValidUtf8(file.path()));
    }
  }
  std::string message =
      StrCat("There is no file ", OneLine(path.bytes(), kMaxNameBytes), " below /workspace: ");
  const std::vector<std::string> near = NearestNames(path.bytes(), paths, kMaxSuggestedFiles);
  if (near.empty()) {
    message += "list what there is with run_command.";
    co_return absl::NotFoundError(message);
  }
  message += "did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    StrAppend(&message,
              i == 0                ? ""
              : i + 1 < near.size() ? ", "
                                    : " or ",
              OneLine(near[i], kMaxNameBytes));
  }
  message += "?";
  co_return absl::NotFoundError(message);
}

Async<std::string> PresentFile::Contents(v1::SandboxRef sandbox, v1::FileInfo info) {
  const std::size_t most = std::max(settings_.inline_max_bytes, settings_.image_max_bytes);
  std::string bytes;
  if (info.size() == 0 || info.size() > static_cast<std::int64_t>(most)) co_return bytes;
  v1::ReadFileRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_path(info.path());
  request.set_length(info.size());
  const FileChunkStream stream = agent_.ReadFile(std::move(request));
  for (;;) {
    auto chunk = co_await stream->Next();
    if (absl::IsDataLoss(chunk.status())) {
      co_return absl::AbortedError(
          "The file changed while it was read: present it once nothing writes to it any more.");
    }
    if (!chunk.ok()) co_return chunk.status();
    if (!chunk->has_value()) co_return bytes;
    bytes += (*chunk)->data();
    if (bytes.size() > most) co_return absl::InternalError("The agent sent more than was asked.");
  }
}

}  // namespace sandkeep::mcp
