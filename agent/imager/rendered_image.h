// What sandkeep-imager writes to its standard output, and the agent reads from it: a header of
// fixed size, then the picture's file. The agent believes nothing of it: see Unpack.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/image_format.h"

namespace sandkeep {

struct RenderedImage {
  ImageFormat format = ImageFormat::kPng;
  int width = 0;
  int height = 0;
  bool scaled = false;  // False: the file as it is.
  std::string data;
};

struct ImageBounds {
  int max_px = 0;  // Of the longer side.
  std::int64_t max_bytes = 0;
};

// How the program ends when it writes no picture; any other end is one that the kernel made.
enum ImagerExit : int {
  kImagerDone = 0,
  kImagerFailed = 1,
  kImagerDamaged = 2,
  kImagerTooLarge = 3
};

std::string Pack(const RenderedImage& image);
// DataLoss: it isn't of the format that it names, or exceeds the bounds.
absl::StatusOr<RenderedImage> Unpack(std::string packed, const ImageBounds& bounds);

}  // namespace sandkeep
