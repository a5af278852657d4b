#include "common/image_format.h"

namespace sandkeep {
namespace {

bool StartsWith(std::string_view bytes, std::string_view prefix) {
  return bytes.substr(0, prefix.size()) == prefix;
}

}  // namespace

std::optional<ImageFormat> ImageFormatOf(std::string_view head) {
  if (StartsWith(head, "\x89PNG\r\n\x1A\n")) return ImageFormat::kPng;
  if (StartsWith(head, "\xFF\xD8\xFF")) return ImageFormat::kJpeg;
  if (StartsWith(head, "GIF87a") || StartsWith(head, "GIF89a")) return ImageFormat::kGif;
  if (StartsWith(head, "RIFF") && head.size() >= 12 && head.substr(8, 4) == "WEBP") {
    return ImageFormat::kWebP;
  }
  return std::nullopt;
}

std::string_view MimeTypeOf(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "image/jpeg";
    case ImageFormat::kGif:
      return "image/gif";
    case ImageFormat::kWebP:
      return "image/webp";
    default:
      return "image/png";
  }
}

}  // namespace sandkeep
