#include "agent/imager/bitmap.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sandkeep {
namespace {

// Which new pixel, or pixels, one old pixel belongs to, and how much of it: it is never wider than
// a new one.
struct Share {
  int first = 0;
  float to_first = 0;
  float to_next = 0;
};

std::vector<Share> SharesOf(int from, int to) {
  const double scale = static_cast<double>(to) / from;
  std::vector<Share> shares(static_cast<std::size_t>(from));
  for (int i = 0; i < from; ++i) {
    const double start = i * scale;
    const double end = std::min((i + 1) * scale, static_cast<double>(to));
    Share& share = shares[static_cast<std::size_t>(i)];
    share.first = std::min(static_cast<int>(start), to - 1);
    const double next = share.first + 1;
    share.to_first = static_cast<float>(std::min(end, next) - start);
    share.to_next = share.first + 1 < to ? static_cast<float>(std::max(end - next, 0.0)) : 0;
  }
  return shares;
}

void Add(float* sum, const float* pixel, float share) {
  for (int c = 0; c < kChannels; ++c) sum[c] += pixel[c] * share;
}

// Colours weighed by their alpha, so that what is invisible has none.
void SumRow(const std::uint8_t* row, const std::vector<Share>& columns, std::vector<float>* sums) {
  std::fill(sums->begin(), sums->end(), 0.0F);
  for (const Share& share : columns) {
    const float alpha = row[3];
    const float pixel[kChannels] = {static_cast<float>(row[0]) * alpha,
                                    static_cast<float>(row[1]) * alpha,
                                    static_cast<float>(row[2]) * alpha, alpha};
    float* sum = sums->data() + static_cast<std::ptrdiff_t>(share.first) * kChannels;
    Add(sum, pixel, share.to_first);
    if (share.to_next > 0) Add(sum + kChannels, pixel, share.to_next);
    row += kChannels;
  }
}

std::uint8_t ToByte(float value) {
  return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

void StoreRow(std::vector<float>* sums, std::uint8_t* row) {
  for (std::size_t i = 0; i < sums->size(); i += kChannels) {
    const float alpha = (*sums)[i + 3];
    for (std::size_t c = 0; c < 3; ++c) row[i + c] = alpha > 0 ? ToByte((*sums)[i + c] / alpha) : 0;
    row[i + 3] = ToByte(alpha);
  }
  std::fill(sums->begin(), sums->end(), 0.0F);
}

void AddRow(const std::vector<float>& row, float share, std::vector<float>* sums) {
  for (std::size_t i = 0; i < row.size(); ++i) (*sums)[i] += row[i] * share;
}

bool IsTurned(int orientation) { return orientation >= 5; }
bool IsMirrored(int orientation) {
  return orientation == 2 || orientation == 4 || orientation == 5 || orientation == 7;
}

struct Point {
  int x;
  int y;
};

// Where the upright picture's pixel stands in the one as it was taken.
Point Source(int orientation, Size upright, int x, int y) {
  if (IsMirrored(orientation)) x = upright.width - 1 - x;
  switch (orientation) {
    case 3:
    case 4:
      return {upright.width - 1 - x, upright.height - 1 - y};
    case 5:
    case 6:
      return {y, upright.width - 1 - x};
    case 7:
    case 8:
      return {upright.height - 1 - y, x};
    default:
      return {x, y};
  }
}

}  // namespace

Size FitWithin(Size size, int most) {
  const int longer = std::max(size.width, size.height);
  if (longer <= most) return size;
  const auto scaled = [&](int side) {
    return std::max(1, static_cast<int>(static_cast<std::int64_t>(side) * most / longer));
  };
  return {scaled(size.width), scaled(size.height)};
}

bool IsOpaque(const Bitmap& bitmap) {
  for (std::size_t i = 3; i < bitmap.rgba.size(); i += kChannels) {
    if (bitmap.rgba[i] != 255) return false;
  }
  return true;
}

Bitmap Shrink(const Bitmap& bitmap, Size size) {
  if (size.width == bitmap.width && size.height == bitmap.height) return bitmap;
  Bitmap small(size.width, size.height);
  const std::vector<Share> columns = SharesOf(bitmap.width, size.width);
  const std::vector<Share> rows = SharesOf(bitmap.height, size.height);
  const std::size_t width = static_cast<std::size_t>(size.width) * kChannels;
  std::vector<float> row(width);
  std::vector<float> sums(width);
  std::vector<float> next(width);
  int at = 0;
  for (int y = 0; y < bitmap.height; ++y) {
    const Share& share = rows[static_cast<std::size_t>(y)];
    if (share.first != at) {
      StoreRow(&sums, small.Row(at));
      sums.swap(next);
      at = share.first;
    }
    SumRow(bitmap.Row(y), columns, &row);
    AddRow(row, share.to_first, &sums);
    if (share.to_next > 0) AddRow(row, share.to_next, &next);
  }
  StoreRow(&sums, small.Row(at));
  return small;
}

Bitmap Upright(Bitmap bitmap, int orientation) {
  if (orientation <= 1 || orientation > 8) return bitmap;
  const bool turned = IsTurned(orientation);
  const Size size{turned ? bitmap.height : bitmap.width, turned ? bitmap.width : bitmap.height};
  Bitmap upright(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* to = upright.Row(y);
    for (int x = 0; x < size.width; ++x, to += kChannels) {
      const Point from = Source(orientation, size, x, y);
      std::memcpy(to, bitmap.Row(from.y) + static_cast<std::ptrdiff_t>(from.x) * kChannels,
                  kChannels);
    }
  }
  return upright;
}

}  // namespace sandkeep
