#include "gateway/mcp/tools/present_file.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/image_type.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"
#include "gateway/mcp/tools/workspace_path.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Hand a file below /workspace to the person: makes a download link that works for a limited "
    "time, and shows you the file if it is an image or a short text. The person doesn't see the "
    "result: put the Markdown line that it gives into your answer. A folder is handed over as a "
    "zip "
    "archive of what is in it when the link is used.";

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
                file.size < 0 ? "a folder as an archive" : SizeInWords(file.size), ", ",
                file.mime_type, ". The link works for ", InWords(file.lifetime),
                "; present the file again for a new one.", shown,
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
    if (std::max(type->width, type->height) > kMaxRenderPixels) {
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
  description.properties["path"] = Property("string", kPathDescription);
  description.properties["caption"] =
      Property("string", "What the link says; left out, the file's name.");
  description.required = {"sandbox", "path"};
  description.idempotent = true;
  return description;
}

Async<ToolResult> PresentFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "caption"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFileOrFolder));
  const v1::SandboxRef& sandbox = target.sandbox;
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> caption, arguments.Text("caption"));
  CO_ASSIGN_OR_RETURN(const v1::FileInfo info, co_await FindFile(agent_, sandbox, target.path));
  const bool folder = info.type() == v1::FileInfo::DIRECTORY;
  std::string bytes;
  if (!folder) {
    CO_ASSIGN_OR_RETURN(bytes, co_await Contents(sandbox, info));
  }

  Presented file;
  file.sandbox = context.sandbox;
  const std::string_view found = info.path();
  file.name = ToValidUtf8(found.substr(found.rfind('/') + 1));
  file.caption = caption.value_or("");
  if (folder) file.name = file.name.empty() ? "workspace.zip" : StrCat(file.name, ".zip");
  file.size = folder ? -1 : info.size();
  file.lifetime = links_.lifetime();
  const LinkTarget linked{
      .principal = context.principal().text(), .key = info.key(), .generation = info.generation()};
  const std::string& base = context.request.public_base;
  file.uri = folder ? links_.MakeForFolder(base, linked, found) : links_.Make(base, linked, found);
  if (const auto image = ImageTypeOf(bytes)) file.mime_type = std::string(image->mime_type);
  if (file.mime_type.empty()) file.mime_type = settings_.mime_type_of(file.name);

  ToolResult result;
  result.content.emplace_back(TextBlock{});
  const std::string_view shown = folder ? " It holds what is in the folder when the link is used."
                                        : Show(std::move(bytes), info.size(), settings_, &result);
  std::get<TextBlock>(result.content.front()).text = LinkText(file, shown);
  result.content.emplace_back(LinkBlock{.uri = file.uri,
                                        .name = file.name,
                                        .title = OneLine(file.caption, kMaxCaptionBytes),
                                        .mime_type = file.mime_type,
                                        .size = file.size});
  co_return result;
}

Async<std::string> PresentFile::Contents(v1::SandboxRef sandbox, v1::FileInfo info) {
  const std::size_t most = std::max(settings_.inline_max_bytes, settings_.image_max_bytes);
  if (info.size() > static_cast<std::int64_t>(most)) co_return std::string();
  co_return co_await ReadWhole(agent_, std::move(sandbox), std::move(info));
}

}  // namespace sandkeep::mcp
