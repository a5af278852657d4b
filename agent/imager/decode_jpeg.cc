// By TurboJPEG, which is without long jumps, and scales by eighths while it decodes.

#include <turbojpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "agent/imager/decode.h"
#include "agent/imager/notes.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

struct Close {
  void operator()(void* handle) const { ::tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, Close>;

// Each scan of a progressive file is work over all pixels: no camera writes many.
constexpr int kFlags = TJFLAG_LIMITSCANS;

// The smallest that still is no smaller than what is wanted.
Size ScaledSize(Size size, Size wanted) {
  int count = 0;
  const tjscalingfactor* const factors = ::tjGetScalingFactors(&count);
  Size best = size;
  for (int i = 0; i < count; ++i) {
    const Size scaled{TJSCALED(size.width, factors[i]), TJSCALED(size.height, factors[i])};
    const bool enough = scaled.width >= wanted.width && scaled.height >= wanted.height;
    if (enough && scaled.width < best.width) best = scaled;
  }
  return best;
}

// Four inks to light, in place.
void InksToLight(bool inverted, Bitmap* bitmap) {
  for (std::size_t i = 0; i < bitmap->rgba.size(); i += kChannels) {
    std::uint8_t* const pixel = bitmap->rgba.data() + i;
    const auto light = [inverted](std::uint8_t ink) { return inverted ? ink : 255 - ink; };
    const int key = light(pixel[3]);
    for (int c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(light(pixel[c]) * key / 255);
    pixel[3] = 255;
  }
}

// TurboJPEG fills up with grey where the file ends too early, and says so.
bool IsCutOff(tjhandle handle) {
  return std::strstr(::tjGetErrorStr2(handle), "remature end") != nullptr;
}

}  // namespace

absl::StatusOr<DecodedImage> DecodeJpeg(std::string_view bytes, int max_px) {
  const Handle handle(::tjInitDecompress());
  if (handle == nullptr) return absl::ResourceExhaustedError("no decoder");
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  DecodedImage decoded;
  int sampling = 0;
  int colours = 0;
  if (::tjDecompressHeader3(handle.get(), data, bytes.size(), &decoded.size.width,
                            &decoded.size.height, &sampling, &colours) != 0) {
    return absl::InvalidArgumentError(::tjGetErrorStr2(handle.get()));
  }
  RETURN_IF_ERROR(CheckPixels(decoded.size, kMaxScaledPixels));
  const Size size = ScaledSize(decoded.size, FitWithin(decoded.size, max_px));
  RETURN_IF_ERROR(CheckPixels(size, kMaxWholePixels));
  decoded.bitmap = Bitmap(size.width, size.height);
  const bool inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
  if (::tjDecompress2(handle.get(), data, bytes.size(), decoded.bitmap.rgba.data(), size.width, 0,
                      size.height, inks ? TJPF_CMYK : TJPF_RGBA, kFlags) != 0) {
    if (::tjGetErrorCode(handle.get()) != TJERR_WARNING || IsCutOff(handle.get())) {
      return absl::InvalidArgumentError(::tjGetErrorStr2(handle.get()));
    }
    decoded.plain = false;
  }
  const JpegNotes notes = NotesOfJpeg(bytes);
  if (inks) InksToLight(notes.adobe, &decoded.bitmap);
  decoded.orientation = notes.orientation;
  decoded.plain = decoded.plain && !inks;
  return decoded;
}

}  // namespace sandkeep
