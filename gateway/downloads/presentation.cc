#include "gateway/downloads/presentation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/downloads/percent.h"

namespace sandkeep {
namespace {

// Images that are pixels and no more: SVG is a document that runs scripts.
constexpr std::array<std::string_view, 7> kRasterTypes = {"image/png",
                                                          "image/jpeg",
                                                          "image/gif",
                                                          "image/webp",
                                                          "image/avif",
                                                          "image/bmp",
                                                          "image/vnd.microsoft.icon"};

bool IsHarmless(std::string_view type) {
  return type == "text/plain" || absl::StartsWith(ToAbsl(type), "audio/") ||
         absl::StartsWith(ToAbsl(type), "video/") ||
         std::find(kRasterTypes.begin(), kRasterTypes.end(), type) != kRasterTypes.end();
}

// For readers that know no other: curl takes the bytes between the quotes as they are, and of a
// quote or a backslash there is no spelling that it understands.
std::string QuotedName(std::string utf8) {
  std::replace_if(utf8.begin(), utf8.end(), [](char c) { return c == '"' || c == '\\'; }, '_');
  return utf8;
}

// Whether all readers of the quoted one see the same name in it: some decode a percent sign, some
// expect Latin-1.
bool IsPlain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '%';
  });
}

// As long as may be, with its ending.
std::string Shortened(std::string name) {
  if (name.size() <= kMaxSavedNameBytes) return name;
  std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || name.size() - dot > kMaxSavedEndingBytes) dot = name.size();
  const std::size_t room = kMaxSavedNameBytes - (name.size() - dot);
  return StrCat(Utf8Head(std::string_view(name).substr(0, dot), room),
                std::string_view(name).substr(dot));
}

// Nothing that a file system or a reader could take for more than a name.
std::string SafeName(std::string_view name) {
  std::string utf8 = ToValidUtf8(name);
  std::replace_if(
      utf8.begin(), utf8.end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '/'; }, '_');
  return Shortened(std::move(utf8));
}

}  // namespace

std::string ContentDisposition(std::string_view kind, std::string_view name) {
  const std::string utf8 = SafeName(name);
  std::string value = StrCat(kind, "; filename=\"", QuotedName(utf8), "\"");
  if (!IsPlain(utf8)) {
    StrAppend(&value, "; filename*=UTF-8''", PercentEncode(utf8, /*keep_slash=*/false));
  }
  return value;
}

Presentation PresentAs(std::string_view name, std::string_view mime_type) {
  const bool harmless = IsHarmless(mime_type);
  return {.content_type =
              mime_type == "text/plain" ? "text/plain; charset=utf-8" : std::string(mime_type),
          .content_disposition = ContentDisposition(harmless ? "inline" : "attachment", name)};
}

}  // namespace sandkeep
