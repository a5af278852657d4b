// By libwebp, which scales while it decodes.

#include <webp/decode.h>
#include <webp/demux.h>

#include <cstring>
#include <memory>

#include "agent/imager/decode.h"
#include "agent/imager/notes.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { ::WebPDemuxDelete(demuxer); }
};
struct DeleteFrames {
  void operator()(WebPAnimDecoder* frames) const { ::WebPAnimDecoderDelete(frames); }
};

absl::Status Damaged() { return absl::InvalidArgumentError("damaged"); }

int Orientation(const WebPDemuxer* demuxer) {
  WebPChunkIterator chunk;
  int orientation = 1;
  if (::WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0) {
    orientation =
        OrientationOf({reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size});
  }
  ::WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

absl::Status DecodeStill(const WebPData& data, int max_px, DecodedImage* decoded) {
  WebPDecoderConfig config;
  if (::WebPInitDecoderConfig(&config) == 0) return absl::InternalError("another libwebp");
  const Size size = FitWithin(decoded->size, max_px);
  decoded->bitmap = Bitmap(size.width, size.height);
  config.options.use_scaling = size.width != decoded->size.width ? 1 : 0;
  config.options.scaled_width = size.width;
  config.options.scaled_height = size.height;
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = decoded->bitmap.rgba.data();
  config.output.u.RGBA.stride = size.width * kChannels;
  config.output.u.RGBA.size = decoded->bitmap.rgba.size();
  const VP8StatusCode status = ::WebPDecode(data.bytes, data.size, &config);
  if (status == VP8_STATUS_OUT_OF_MEMORY) return absl::ResourceExhaustedError("out of memory");
  return status == VP8_STATUS_OK ? absl::OkStatus() : Damaged();
}

// The first frame is kept; the others are read, so that nothing damaged is handed on.
absl::Status DecodeFrames(const WebPData& data, DecodedImage* decoded) {
  // The decoder holds two canvases of its own.
  RETURN_IF_ERROR(CheckPixels(decoded->size, kMaxWholePixels / 3));
  const std::unique_ptr<WebPAnimDecoder, DeleteFrames> frames(::WebPAnimDecoderNew(&data, nullptr));
  if (frames == nullptr) return Damaged();
  decoded->bitmap = Bitmap(decoded->size.width, decoded->size.height);
  std::int64_t pixels = 0;
  for (bool first = true; ::WebPAnimDecoderHasMoreFrames(frames.get()) != 0; first = false) {
    pixels += std::int64_t{decoded->size.width} * decoded->size.height;
    if (!first && pixels > kMaxFramePixels) {
      // The first one is enough of an animation that takes too long to check.
      decoded->plain = false;
      break;
    }
    std::uint8_t* canvas = nullptr;
    int at_ms = 0;
    if (::WebPAnimDecoderGetNext(frames.get(), &canvas, &at_ms) == 0) return Damaged();
    if (first) std::memcpy(decoded->bitmap.rgba.data(), canvas, decoded->bitmap.rgba.size());
  }
  return pixels > 0 ? absl::OkStatus() : Damaged();
}

}  // namespace

absl::StatusOr<DecodedImage> DecodeWebP(std::string_view bytes, int max_px) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(::WebPDemux(&data));
  if (demuxer == nullptr) return Damaged();
  const auto feature = [&](WebPFormatFeature which) {
    return ::WebPDemuxGetI(demuxer.get(), which);
  };
  DecodedImage decoded;
  decoded.size = {static_cast<int>(feature(WEBP_FF_CANVAS_WIDTH)),
                  static_cast<int>(feature(WEBP_FF_CANVAS_HEIGHT))};
  RETURN_IF_ERROR(CheckPixels(decoded.size, kMaxScaledPixels));
  decoded.orientation = Orientation(demuxer.get());
  if ((feature(WEBP_FF_FORMAT_FLAGS) & ANIMATION_FLAG) != 0) {
    RETURN_IF_ERROR(DecodeFrames(data, &decoded));
  } else {
    RETURN_IF_ERROR(DecodeStill(data, max_px, &decoded));
  }
  return decoded;
}

}  // namespace sandkeep
