#include "tests/unit/agent/imager/test_images.h"

#include <gif_lib.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>
#include <webp/encode.h>
#include <webp/mux.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace sandkeep {
namespace {

void Paint(std::uint8_t* pixel, const Colour& colour) {
  pixel[0] = static_cast<std::uint8_t>(colour.red);
  pixel[1] = static_cast<std::uint8_t>(colour.green);
  pixel[2] = static_cast<std::uint8_t>(colour.blue);
  pixel[3] = static_cast<std::uint8_t>(colour.alpha);
}

std::string BigEndian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

std::string Chunk(std::string_view name, std::string_view body) {
  std::string named(name);
  named += body;
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  return BigEndian(static_cast<std::uint32_t>(body.size()), 4) + named +
         BigEndian(static_cast<std::uint32_t>(sum), 4);
}

png_image Header(Size size, png_uint_32 format) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(size.width);
  image.height = static_cast<png_uint_32>(size.height);
  image.format = format;
  return image;
}

std::string WritePng(png_image image, const void* pixels, const void* colours = nullptr) {
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  EXPECT_NE(::png_image_write_to_memory(&image, file.data(), &size, 0, pixels, 0, colours), 0)
      << image.message;
  file.resize(size);
  return file;
}

std::string Compress(const Bitmap& bitmap, int format, int sampling, int quality) {
  tjhandle handle = ::tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(::tjCompress2(handle, bitmap.rgba.data(), bitmap.width, 0, bitmap.height, format, &data,
                          &size, sampling, quality, 0),
            0)
      << ::tjGetErrorStr2(handle);
  std::string file(reinterpret_cast<const char*>(data), size);
  ::tjFree(data);
  ::tjDestroy(handle);
  return file;
}

std::string Taken(WebPData* data) {
  std::string file(reinterpret_cast<const char*>(data->bytes), data->size);
  ::WebPDataClear(data);
  return file;
}

int AppendToString(GifFileType* gif, const GifByteType* bytes, int size) {
  static_cast<std::string*>(gif->UserData)
      ->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  return size;
}

}  // namespace

Bitmap Plain(Size size, Colour colour) {
  Bitmap bitmap(size.width, size.height);
  for (std::size_t i = 0; i < bitmap.rgba.size(); i += kChannels) Paint(&bitmap.rgba[i], colour);
  return bitmap;
}

Bitmap Quarters(Size size) {
  constexpr Colour kColours[] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}};
  Bitmap bitmap(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int quarter = (y < size.height / 2 ? 0 : 2) + (x < size.width / 2 ? 0 : 1);
      Paint(bitmap.Row(y) + static_cast<std::ptrdiff_t>(x) * kChannels, kColours[quarter]);
    }
  }
  return bitmap;
}

Bitmap Noise(Size size, bool with_alpha) {
  std::mt19937 random(7);
  Bitmap bitmap(size.width, size.height);
  for (std::uint8_t& byte : bitmap.rgba) byte = static_cast<std::uint8_t>(random());
  if (with_alpha) return bitmap;
  for (std::size_t i = 3; i < bitmap.rgba.size(); i += kChannels) bitmap.rgba[i] = 255;
  return bitmap;
}

Colour ColourAt(const Bitmap& bitmap, int x, int y) {
  const std::uint8_t* pixel = bitmap.Row(y) + static_cast<std::ptrdiff_t>(x) * kChannels;
  return {pixel[0], pixel[1], pixel[2], pixel[3]};
}

bool IsNear(const Colour& a, const Colour& b) {
  constexpr int kFar = 24;
  return std::abs(a.red - b.red) < kFar && std::abs(a.green - b.green) < kFar &&
         std::abs(a.blue - b.blue) < kFar && std::abs(a.alpha - b.alpha) < kFar;
}

std::string PngFile(const Bitmap& bitmap) {
  return WritePng(Header({bitmap.width, bitmap.height}, PNG_FORMAT_RGBA), bitmap.rgba.data());
}

std::string Png16File(Size size, Colour colour) {
  // Linear light, of which these values are the ends: nothing between them to convert.
  std::vector<std::uint16_t> pixels;
  for (int i = 0; i < size.width * size.height; ++i) {
    for (const int value : {colour.red, colour.green, colour.blue}) {
      pixels.push_back(value == 0 ? 0 : 65535);
    }
  }
  return WritePng(Header(size, PNG_FORMAT_LINEAR_RGB), pixels.data());
}

std::string PngPaletteFile(const Bitmap& bitmap) {
  const std::uint8_t colours[] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 0, 0, 0, 0};
  std::vector<std::uint8_t> indices;
  for (int y = 0; y < bitmap.height; ++y) {
    for (int x = 0; x < bitmap.width; ++x) {
      const Colour colour = ColourAt(bitmap, x, y);
      const bool white = colour.red != 0 && colour.green != 0;
      indices.push_back(white ? 3 : colour.green != 0 ? 1 : colour.blue != 0 ? 2 : 0);
    }
  }
  png_image image = Header({bitmap.width, bitmap.height}, PNG_FORMAT_RGBA_COLORMAP);
  image.colormap_entries = 4;
  return WritePng(image, indices.data(), colours);
}

std::string PngBomb(int width, int height) {
  z_stream stream = {};
  EXPECT_EQ(::deflateInit(&stream, 9), Z_OK);
  std::string row(static_cast<std::size_t>(width) / 8 + 2, '\0');
  std::string packed;
  std::string out(1 << 16, '\0');
  for (int y = 0; y <= height; ++y) {
    stream.next_in = reinterpret_cast<Bytef*>(row.data());
    stream.avail_in = y < height ? static_cast<uInt>(row.size()) : 0;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      ::deflate(&stream, y < height ? Z_NO_FLUSH : Z_FINISH);
      packed.append(out, 0, out.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  ::deflateEnd(&stream);
  const std::string header = BigEndian(static_cast<std::uint32_t>(width), 4) +
                             BigEndian(static_cast<std::uint32_t>(height), 4) +
                             std::string("\1\0\0\0\0", 5);
  return "\x89PNG\r\n\x1A\n" + Chunk("IHDR", header) + Chunk("IDAT", packed) + Chunk("IEND", "");
}

std::string PngThatSaysItIsSmall(const std::string& png) {
  constexpr std::size_t kBehindHeader = 8 + 12 + 13;
  constexpr std::size_t kDepth = 8 + 8 + 8;
  const std::string header = BigEndian(1, 4) + BigEndian(1, 4) + png.substr(kDepth, 5);
  return png.substr(0, 8) + Chunk("IHDR", header) + png.substr(kBehindHeader);
}

std::string WithPngChunk(const std::string& png, std::string_view name, std::string_view body) {
  constexpr std::size_t kBehindHeader = 8 + 12 + 13;
  return png.substr(0, kBehindHeader) + Chunk(name, body) + png.substr(kBehindHeader);
}

std::string JpegFile(const Bitmap& bitmap, int quality) {
  return Compress(bitmap, TJPF_RGBX, TJSAMP_444, quality);
}

std::string JpegInksFile(Size size, Colour colour) {
  return Compress(Plain(size, colour), TJPF_CMYK, TJSAMP_444, 95);
}

std::string WithJpegSegment(const std::string& jpeg, int marker, std::string_view body) {
  std::string segment = "\xFF";
  segment += static_cast<char>(marker);
  segment += BigEndian(static_cast<std::uint32_t>(body.size() + 2), 2);
  return jpeg.substr(0, 2) + segment + std::string(body) + jpeg.substr(2);
}

std::string WebPFile(const Bitmap& bitmap, bool lossless) {
  std::uint8_t* data = nullptr;
  const int stride = bitmap.width * kChannels;
  const std::size_t size =
      lossless
          ? ::WebPEncodeLosslessRGBA(bitmap.rgba.data(), bitmap.width, bitmap.height, stride, &data)
          : ::WebPEncodeRGBA(bitmap.rgba.data(), bitmap.width, bitmap.height, stride, 90, &data);
  std::string file(reinterpret_cast<const char*>(data), size);
  ::WebPFree(data);
  return file;
}

std::string WebPAnimationFile(const std::vector<Bitmap>& frames) {
  WebPAnimEncoder* const encoder = ::WebPAnimEncoderNew(frames[0].width, frames[0].height, nullptr);
  int at_ms = 0;
  for (const Bitmap& frame : frames) {
    WebPPicture picture;
    WebPConfig config;
    EXPECT_NE(::WebPPictureInit(&picture), 0);
    EXPECT_NE(::WebPConfigInit(&config), 0);
    picture.use_argb = 1;
    picture.width = frame.width;
    picture.height = frame.height;
    ::WebPPictureImportRGBA(&picture, frame.rgba.data(), frame.width * kChannels);
    EXPECT_NE(::WebPAnimEncoderAdd(encoder, &picture, at_ms, &config), 0);
    ::WebPPictureFree(&picture);
    at_ms += 100;
  }
  ::WebPAnimEncoderAdd(encoder, nullptr, at_ms, nullptr);
  WebPData data;
  ::WebPDataInit(&data);
  EXPECT_NE(::WebPAnimEncoderAssemble(encoder, &data), 0);
  ::WebPAnimEncoderDelete(encoder);
  return Taken(&data);
}

std::string WithWebPExif(const std::string& webp, std::string_view exif) {
  const WebPData file{reinterpret_cast<const std::uint8_t*>(webp.data()), webp.size()};
  const WebPData chunk{reinterpret_cast<const std::uint8_t*>(exif.data()), exif.size()};
  WebPMux* const mux = ::WebPMuxCreate(&file, 1);
  EXPECT_EQ(::WebPMuxSetChunk(mux, "EXIF", &chunk, 1), WEBP_MUX_OK);
  WebPData data;
  EXPECT_EQ(::WebPMuxAssemble(mux, &data), WEBP_MUX_OK);
  ::WebPMuxDelete(mux);
  return Taken(&data);
}

std::string GifFile(Size size, const std::vector<Colour>& frames) {
  std::string file;
  int error = 0;
  GifFileType* const gif = ::EGifOpen(&file, &AppendToString, &error);
  ::EGifSetGifVersion(gif, true);
  std::vector<GifColorType> colours;
  for (const Colour& frame : frames) {
    colours.push_back({static_cast<GifByteType>(frame.red), static_cast<GifByteType>(frame.green),
                       static_cast<GifByteType>(frame.blue)});
  }
  colours.resize(256);
  ColorMapObject* const map = ::GifMakeMapObject(256, colours.data());
  EXPECT_EQ(::EGifPutScreenDesc(gif, size.width, size.height, 8, 0, map), GIF_OK);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(::EGifPutImageDesc(gif, 0, 0, size.width, size.height, false, nullptr), GIF_OK);
    std::vector<GifPixelType> line(static_cast<std::size_t>(size.width),
                                   static_cast<GifPixelType>(i));
    for (int y = 0; y < size.height; ++y) {
      EXPECT_EQ(::EGifPutLine(gif, line.data(), size.width), GIF_OK);
    }
  }
  ::GifFreeMapObject(map);
  EXPECT_EQ(::EGifCloseFile(gif, &error), GIF_OK);
  return file;
}

std::string Exif(int orientation, bool little_endian) {
  const auto number = [&](std::uint32_t value, int bytes) {
    std::string text = BigEndian(value, bytes);
    if (little_endian) std::reverse(text.begin(), text.end());
    return text;
  };
  const auto tag = [&](std::uint32_t name, std::uint32_t value) {
    return number(name, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
  };
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(2, 2) +
         tag(0x0103, 6) + tag(0x0112, static_cast<std::uint32_t>(orientation)) + number(0, 4);
}

}  // namespace sandkeep
