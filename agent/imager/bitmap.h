// A picture in memory: 8 bits each of red, green, blue and alpha, not premultiplied, row by row
// from the top. Plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sandkeep {

inline constexpr int kChannels = 4;

struct Bitmap {
  Bitmap() = default;
  Bitmap(int width_given, int height_given)
      : width(width_given),
        height(height_given),
        rgba(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * kChannels) {}

  std::uint8_t* Row(int y) { return rgba.data() + Offset(y); }
  const std::uint8_t* Row(int y) const { return rgba.data() + Offset(y); }

  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba;

 private:
  std::size_t Offset(int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * kChannels;
  }
};

struct Size {
  int width = 0;
  int height = 0;
};

// As it is, if no side is longer than `most`; else the same shape, its longer side that long.
Size FitWithin(Size size, int most);

// Nothing shines through.
bool IsOpaque(const Bitmap& bitmap);

// To a size no larger in either direction: each new pixel is the mean of those that it covers.
Bitmap Shrink(const Bitmap& bitmap, Size size);

// As a camera's note says that it was held: EXIF's 1 to 8, 1 being upright.
Bitmap Upright(Bitmap bitmap, int orientation);

}  // namespace sandkeep
