#include "agent/imager/encode.h"

#include <png.h>
#include <turbojpeg.h>
#include <webp/encode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/status_macros.h"

namespace sandkeep {
namespace {

// What is tried in turn before the picture itself is made smaller.
constexpr int kQualities[] = {85, 65};
constexpr int kMaxTries = 6;
// Of both sides, for another try.
constexpr double kLeastShrink = 0.3;
constexpr double kMostShrink = 0.85;

absl::StatusOr<std::string> EncodePng(const Bitmap& bitmap, bool opaque) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(bitmap.width);
  image.height = static_cast<png_uint_32>(bitmap.height);
  image.format = opaque ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> rgb;
  if (opaque) {
    rgb.reserve(bitmap.rgba.size() / kChannels * 3);
    for (std::size_t i = 0; i < bitmap.rgba.size(); i += kChannels) {
      rgb.insert(rgb.end(), bitmap.rgba.begin() + static_cast<std::ptrdiff_t>(i),
                 bitmap.rgba.begin() + static_cast<std::ptrdiff_t>(i) + 3);
    }
  }
  const void* const pixels = opaque ? rgb.data() : bitmap.rgba.data();
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (::png_image_write_to_memory(&image, file.data(), &size, 0, pixels, 0, nullptr) == 0) {
    return absl::InternalError(image.message);
  }
  file.resize(size);
  return file;
}

struct CloseJpeg {
  void operator()(void* handle) const { ::tjDestroy(handle); }
};

absl::StatusOr<std::string> EncodeJpeg(const Bitmap& bitmap, int quality) {
  const std::unique_ptr<void, CloseJpeg> handle(::tjInitCompress());
  if (handle == nullptr) return absl::ResourceExhaustedError("no encoder");
  constexpr int kSampling = TJSAMP_420;
  std::string file(::tjBufSize(bitmap.width, bitmap.height, kSampling), '\0');
  auto* data = reinterpret_cast<unsigned char*>(file.data());
  unsigned long size = file.size();
  if (::tjCompress2(handle.get(), bitmap.rgba.data(), bitmap.width, 0, bitmap.height, TJPF_RGBX,
                    &data, &size, kSampling, quality, TJFLAG_NOREALLOC) != 0) {
    return absl::InternalError(::tjGetErrorStr2(handle.get()));
  }
  file.resize(size);
  return file;
}

struct FreePicture {
  void operator()(WebPPicture* picture) const { ::WebPPictureFree(picture); }
};
struct FreeWriter {
  void operator()(WebPMemoryWriter* writer) const { ::WebPMemoryWriterClear(writer); }
};

absl::StatusOr<std::string> EncodeWebP(const Bitmap& bitmap, int quality) {
  WebPConfig config;
  WebPPicture picture;
  if (::WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, static_cast<float>(quality)) == 0 ||
      ::WebPPictureInit(&picture) == 0) {
    return absl::InternalError("another libwebp");
  }
  config.method = 2;  // Of 0 to 6: half the time of the usual 4.
  picture.width = bitmap.width;
  picture.height = bitmap.height;
  WebPMemoryWriter writer;
  ::WebPMemoryWriterInit(&writer);
  const std::unique_ptr<WebPPicture, FreePicture> free_picture(&picture);
  const std::unique_ptr<WebPMemoryWriter, FreeWriter> free_writer(&writer);
  picture.writer = &::WebPMemoryWrite;
  picture.custom_ptr = &writer;
  if (::WebPPictureImportRGBA(&picture, bitmap.rgba.data(), bitmap.width * kChannels) == 0 ||
      ::WebPEncode(&config, &picture) == 0) {
    return absl::ResourceExhaustedError("not encoded");
  }
  return std::string(reinterpret_cast<const char*>(writer.mem), writer.size);
}

struct File {
  ImageFormat format;
  std::string bytes;
};

// The first that is small enough, else the smallest.
absl::StatusOr<File> EncodeOnce(const Bitmap& bitmap, bool lossless, bool opaque,
                                std::int64_t max_bytes) {
  const auto fits = [&](const File& file) {
    return static_cast<std::int64_t>(file.bytes.size()) <= max_bytes;
  };
  File best{ImageFormat::kPng, {}};
  if (lossless) {
    ASSIGN_OR_RETURN(best.bytes, EncodePng(bitmap, opaque));
    if (fits(best)) return best;
  }
  best.format = opaque ? ImageFormat::kJpeg : ImageFormat::kWebP;
  for (const int quality : kQualities) {
    ASSIGN_OR_RETURN(best.bytes,
                     opaque ? EncodeJpeg(bitmap, quality) : EncodeWebP(bitmap, quality));
    if (fits(best)) break;
  }
  return best;
}

}  // namespace

absl::StatusOr<RenderedImage> Encode(Bitmap bitmap, bool photo, std::int64_t max_bytes) {
  const bool opaque = photo || IsOpaque(bitmap);
  for (int tries = 0; tries < kMaxTries; ++tries) {
    // What is too large as a PNG once is hardly worth the time again.
    const bool lossless = !photo && tries == 0;
    ASSIGN_OR_RETURN(File file, EncodeOnce(bitmap, lossless, opaque, max_bytes));
    const auto size = static_cast<double>(file.bytes.size());
    if (size <= static_cast<double>(max_bytes)) {
      return RenderedImage{.format = file.format,
                           .width = bitmap.width,
                           .height = bitmap.height,
                           .scaled = true,
                           .data = std::move(file.bytes)};
    }
    const double shrink =
        std::clamp(std::sqrt(static_cast<double>(max_bytes) / size), kLeastShrink, kMostShrink);
    const int longer = std::max(bitmap.width, bitmap.height);
    if (longer == 1) break;
    const int most = std::max(1, static_cast<int>(longer * shrink));
    bitmap = Shrink(bitmap, FitWithin({bitmap.width, bitmap.height}, most));
  }
  return absl::ResourceExhaustedError("it can't be made small enough");
}

}  // namespace sandkeep
