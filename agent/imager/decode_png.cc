// By libpng's simplified interface, which is without long jumps: palettes, grey, 16 bits, gamma and
// interlacing come out as plain RGBA.

#include <png.h>

#include "agent/imager/decode.h"
#include "agent/imager/notes.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

struct Image : png_image {
  Image() : png_image() { version = PNG_IMAGE_VERSION; }
  ~Image() { ::png_image_free(this); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
};

}  // namespace

absl::StatusOr<DecodedImage> DecodePng(std::string_view bytes) {
  const PngNotes notes = NotesOfPng(bytes);
  if (!notes.whole) return absl::InvalidArgumentError("its end is missing");
  if (notes.swollen) return absl::InvalidArgumentError("there is more in it than its pixels");
  Image image;
  if (::png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return absl::InvalidArgumentError(image.message);
  }
  DecodedImage decoded;
  decoded.size = {static_cast<int>(image.width), static_cast<int>(image.height)};
  RETURN_IF_ERROR(CheckPixels(decoded.size, kMaxWholePixels));
  decoded.bitmap = Bitmap(decoded.size.width, decoded.size.height);
  image.format = PNG_FORMAT_RGBA;
  if (::png_image_finish_read(&image, nullptr, decoded.bitmap.rgba.data(), 0, nullptr) == 0) {
    return absl::InvalidArgumentError(image.message);
  }
  decoded.orientation = notes.orientation;
  decoded.plain = image.warning_or_error == 0;
  return decoded;
}

}  // namespace sandkeep
