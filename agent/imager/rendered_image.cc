#include "agent/imager/rendered_image.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace sandkeep {
namespace {

// Format, whether it was scaled, width and height in two bytes each.
constexpr std::size_t kHeaderBytes = 6;

void AppendSide(std::string* out, int side) {
  *out += static_cast<char>(side >> 8 & 0xFF);
  *out += static_cast<char>(side & 0xFF);
}

int ByteAt(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }
int SideAt(std::string_view bytes, std::size_t at) {
  return ByteAt(bytes, at) << 8 | ByteAt(bytes, at + 1);
}

}  // namespace

std::string Pack(const RenderedImage& image) {
  std::string packed;
  packed.reserve(kHeaderBytes + image.data.size());
  packed += static_cast<char>(image.format);
  packed += static_cast<char>(image.scaled ? 1 : 0);
  AppendSide(&packed, image.width);
  AppendSide(&packed, image.height);
  return packed + image.data;
}

absl::StatusOr<RenderedImage> Unpack(std::string packed, const ImageBounds& bounds) {
  if (packed.size() <= kHeaderBytes) return absl::DataLossError("no picture");
  RenderedImage image;
  const std::string_view header = packed;
  image.scaled = ByteAt(header, 1) != 0;
  image.width = SideAt(header, 2);
  image.height = SideAt(header, 4);
  const int format = ByteAt(header, 0);
  packed.erase(0, kHeaderBytes);
  image.data = std::move(packed);
  const std::optional<ImageFormat> found = ImageFormatOf(image.data);
  if (!found || static_cast<int>(*found) != format) {
    return absl::DataLossError("a picture of another format");
  }
  image.format = *found;
  if (std::min(image.width, image.height) < 1 ||
      std::max(image.width, image.height) > bounds.max_px ||
      static_cast<std::int64_t>(image.data.size()) > bounds.max_bytes) {
    return absl::DataLossError("a picture of another size");
  }
  return image;
}

}  // namespace sandkeep
