// Real pictures, made by the libraries that everybody makes them with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/imager/bitmap.h"

namespace sandkeep {

struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;
  int alpha = 255;
};

Bitmap Plain(Size size, Colour colour);
// Its left upper quarter red, the right upper green, the left lower blue, the rest white.
Bitmap Quarters(Size size);
// Nothing compresses it.
Bitmap Noise(Size size, bool with_alpha = false);

Colour ColourAt(const Bitmap& bitmap, int x, int y);
// Within what a photo's compression changes.
bool IsNear(const Colour& a, const Colour& b);

std::string PngFile(const Bitmap& bitmap);
std::string Png16File(Size size, Colour colour);
std::string PngPaletteFile(const Bitmap& bitmap);
// Of one bit a pixel, all black, never held in memory.
std::string PngBomb(int width, int height);
// Its header says that it has one pixel.
std::string PngThatSaysItIsSmall(const std::string& png);
// A chunk before the pixels, its sum right.
std::string WithPngChunk(const std::string& png, std::string_view name, std::string_view body);

std::string JpegFile(const Bitmap& bitmap, int quality = 90);
std::string JpegInksFile(Size size, Colour colour);
std::string WithJpegSegment(const std::string& jpeg, int marker, std::string_view body);

std::string WebPFile(const Bitmap& bitmap, bool lossless);
std::string WebPAnimationFile(const std::vector<Bitmap>& frames);
std::string WithWebPExif(const std::string& webp, std::string_view exif);

// Each frame of one colour, over the whole canvas.
std::string GifFile(Size size, const std::vector<Colour>& frames);

// As a camera writes it.
std::string Exif(int orientation, bool little_endian);

}  // namespace sandkeep
