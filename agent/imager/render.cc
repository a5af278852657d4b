#include "agent/imager/render.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "agent/imager/decode.h"
#include "agent/imager/encode.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

absl::StatusOr<DecodedImage> Decode(std::string_view file, ImageFormat format, int max_px) {
  switch (format) {
    case ImageFormat::kJpeg:
      return DecodeJpeg(file, max_px);
    case ImageFormat::kGif:
      return DecodeGif(file);
    case ImageFormat::kWebP:
      return DecodeWebP(file, max_px);
    default:
      return DecodePng(file);
  }
}

}  // namespace

absl::StatusOr<RenderedImage> Render(std::string_view file, const ImageBounds& bounds) {
  const std::optional<ImageFormat> format = ImageFormatOf(file);
  if (!format) return absl::InvalidArgumentError("none of PNG, JPEG, GIF and WebP");
  ASSIGN_OR_RETURN(DecodedImage decoded, Decode(file, *format, bounds.max_px));
  const bool within = std::max(decoded.size.width, decoded.size.height) <= bounds.max_px &&
                      static_cast<std::int64_t>(file.size()) <= bounds.max_bytes;
  // Not every program turns a picture as its camera was held.
  if (within && decoded.plain && decoded.orientation == 1) {
    return RenderedImage{.format = *format,
                         .width = decoded.size.width,
                         .height = decoded.size.height,
                         .data = std::string(file)};
  }
  const Size size = FitWithin({decoded.bitmap.width, decoded.bitmap.height}, bounds.max_px);
  Bitmap bitmap = Shrink(decoded.bitmap, size);
  decoded.bitmap = Bitmap();
  return Encode(Upright(std::move(bitmap), decoded.orientation), *format == ImageFormat::kJpeg,
                bounds.max_bytes);
}

}  // namespace sandkeep
