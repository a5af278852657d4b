#include "gateway/downloads/presentation.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

// What old readers may take for a name: no quote, no backslash, no percent sign (some decode it),
// nothing beyond ASCII.
std::string AsciiName(std::string_view utf8) {
  std::string ascii;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    // One `_` for a whole character: the bytes that continue it are passed over.
    if ((byte & 0xC0) == 0x80) continue;
    const bool plain = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\' && c != '%';
    ascii += plain ? c : '_';
  }
  return ascii;
}

// Nothing that a file system or a reader could take for more than a name.
std::string SafeName(std::string_view name) {
  std::string utf8 = ToValidUtf8(name);
  std::replace_if(
      utf8.begin(), utf8.end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '/'; }, '_');
  return utf8;
}

}  // namespace

std::string ContentDisposition(std::string_view kind, std::string_view name) {
  const std::string utf8 = SafeName(name);
  const std::string ascii = AsciiName(utf8);
  std::string value = StrCat(kind, "; filename=\"", ascii, "\"");
  if (ascii != utf8) {
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
