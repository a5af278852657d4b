// A picture's file, decoded whole. Hostile input: every decoder is handed bytes and bounds, and
// what it needs beyond them ends the process, not the host.
//
// InvalidArgument: damaged, or not what it says it is. ResourceExhausted: too many pixels.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "agent/imager/bitmap.h"

namespace sandkeep {

struct DecodedImage {
  Bitmap bitmap;        // Of an animation its first frame; may be smaller than `size`.
  Size size;            // As the file has it.
  int orientation = 1;  // EXIF's: the bitmap isn't turned yet.
  // Every program will show it as we do: no warning, nothing that some take for something else.
  bool plain = true;
};

// Where the format lets a decoder scale as it reads, no side needs to be longer than `max_px`.
absl::StatusOr<DecodedImage> DecodePng(std::string_view bytes);
absl::StatusOr<DecodedImage> DecodeJpeg(std::string_view bytes, int max_px);
absl::StatusOr<DecodedImage> DecodeGif(std::string_view bytes);
absl::StatusOr<DecodedImage> DecodeWebP(std::string_view bytes, int max_px);

inline absl::Status CheckPixels(Size size, std::int64_t most) {
  if (size.width < 1 || size.height < 1) return absl::InvalidArgumentError("no pixels");
  if (std::int64_t{size.width} * size.height <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError("too many pixels");
}

}  // namespace sandkeep
