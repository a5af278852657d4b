#include "gateway/mcp/tools/present_file.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/image_format.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/downloads/archive_room.h"
#include "gateway/downloads/signature.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"
#include "gateway/mcp/tools/workspace_path.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Hand a file below /workspace to the person: makes a download link that works for a limited "
    "time, and shows you the file if it is an image or a short text. The person doesn't see the "
    "result: put the Markdown line that it gives into your answer. A folder's link opens a page of "
    "what is in it, which offers all of it as a zip or tar archive; curl gets the archive.";

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
  std::string what;  // In words: its size, or that it is a folder.
  std::chrono::seconds lifetime{0};
};

std::string LinkText(const Presented& file, std::string_view shown) {
  const std::string words = file.caption.empty() ? file.name : file.caption;
  return StrCat("[sandbox ", file.sandbox, "]\n", OneLine(file.name, kMaxNameBytes), ", ",
                file.what, ", ", file.mime_type, ". The link works for ", InWords(file.lifetime),
                "; call this again for a new one.", shown,
                "\nThe person doesn't see this result: put this line into your answer.\n[",
                MarkdownText(words), "](", file.uri, ")");
}

// Adds a short text.
ShownFile ShowText(std::string bytes, std::int64_t size, const EndpointSettings& settings,
                   ToolResult* result) {
  if (size == 0) return {" The file is empty."};
  if (size > static_cast<std::int64_t>(settings.inline_max_bytes)) {
    return {" It is too large to be shown here."};
  }
  if (!IsText(bytes)) return {};
  result->content.emplace_back(TextBlock{std::move(bytes)});
  return {" Its text follows."};
}

// Why a picture is only linked. An image that is damaged or too large ends some conversations.
std::string NotShown(const absl::Status& why) {
  const bool ours = absl::IsInvalidArgument(why) || absl::IsResourceExhausted(why);
  return StrCat(" The image can't be shown here: ",
                ours ? ToStd(why.message()) : "it can't be looked at now", ".");
}

ShownFile ShowFolder(bool archive) {
  constexpr std::string_view kPage = " A browser shows what is in the folder when the link is used";
  if (archive) return {StrCat(kPage, ", curl gets the archive.")};
  return {StrCat(kPage, ". It has no archive: ", NoArchiveWords(), "."), "text/html"};
}

absl::StatusOr<ArchiveFormat> FormatIn(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<std::string> format, arguments.Text("format"));
  const std::string name = format.value_or("zip");
  if (name == "zip") return ArchiveFormat::kZip;
  if (name == "tar") return ArchiveFormat::kTar;
  return absl::InvalidArgumentError("format must be zip or tar.");
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
  description.properties["format"] =
      Property("string", "Of a folder's archive: zip, which is the default, or tar.");
  description.required = {"sandbox", "path"};
  description.idempotent = true;
  return description;
}

Async<ToolResult> PresentFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "caption", "format"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFileOrFolder));
  const v1::SandboxRef& sandbox = target.sandbox;
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> caption, arguments.Text("caption"));
  CO_ASSIGN_OR_RETURN(const ArchiveFormat format, FormatIn(arguments));
  CO_ASSIGN_OR_RETURN(const v1::FileInfo info, co_await FindFile(agent_, sandbox, target.path));
  const bool folder = info.type() == v1::FileInfo::DIRECTORY;
  ToolResult result;
  result.content.emplace_back(TextBlock{});
  bool archive = folder;
  ShownFile shown;
  if (folder) {
    // Whoever can't look now finds out when the link is used.
    const auto fits = co_await CanBeArchived(agent_, sandbox, info.path());
    archive = fits.value_or(true);
    shown = ShowFolder(archive);
  } else {
    CO_ASSIGN_OR_RETURN(shown, co_await Show(sandbox, info, result));
  }

  Presented file;
  file.sandbox = context.sandbox;
  const std::string_view found = info.path();
  file.name = ToValidUtf8(found.substr(found.rfind('/') + 1));
  file.caption = caption.value_or("");
  if (folder && file.name.empty()) file.name = "workspace";
  if (archive) file.name += EndingOf(format);
  file.size = folder ? -1 : info.size();
  file.what = archive ? "a folder as an archive" : folder ? "a folder" : SizeInWords(info.size());
  const LinkTarget linked{.principal = context.principal().text(),
                          .key = info.key(),
                          .generation = info.generation(),
                          .persistent = context.persistent};
  file.lifetime = links_.LifetimeFor(linked);
  const std::string& base = context.request.public_base;
  file.uri =
      folder ? links_.MakeForFolder(base, linked, found, format) : links_.Make(base, linked, found);
  file.mime_type = shown.mime_type.empty() ? settings_.mime_type_of(file.name) : shown.mime_type;
  std::get<TextBlock>(result.content.front()).text = LinkText(file, shown.words);
  result.content.emplace_back(LinkBlock{.uri = file.uri,
                                        .name = file.name,
                                        .title = OneLine(file.caption, kMaxCaptionBytes),
                                        .mime_type = file.mime_type,
                                        .size = file.size});
  co_return result;
}

Async<ShownFile> PresentFile::Show(v1::SandboxRef sandbox, v1::FileInfo info, ToolResult& result) {
  const auto inlined = static_cast<std::int64_t>(settings_.inline_max_bytes);
  const std::int64_t read =
      info.size() <= inlined ? info.size() : static_cast<std::int64_t>(kImageFormatBytes);
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await ReadStart(agent_, sandbox, info, read));
  const std::optional<ImageFormat> format = ImageFormatOf(bytes);
  if (!format) co_return ShowText(std::move(bytes), info.size(), settings_, &result);
  const std::int64_t most =
      std::min(static_cast<std::int64_t>(settings_.image_max_bytes), kShownImageBytes);
  if (most < kLeastImageBytes) co_return ShownFile{" Images aren't shown here."};
  v1::RenderImageRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_path(info.path());
  request.set_max_px(kShownPixels);
  request.set_max_bytes(most);
  absl::StatusOr<v1::RenderImageResponse> image = co_await agent_.RenderImage(std::move(request));
  if (!image.ok()) co_return ShownFile{NotShown(image.status())};
  result.content.emplace_back(ImageBlock{std::move(*image->mutable_data()), image->mime_type()});
  std::string words = " The image follows.";
  if (image->scaled()) {
    words = StrCat(" The image follows, made smaller to ", image->width(), " x ", image->height(),
                   " pixels; the link has it whole.");
  }
  co_return ShownFile{std::move(words), std::string(MimeTypeOf(*format))};
}

}  // namespace sandkeep::mcp
