// By giflib. The first frame on its canvas is what is shown if the picture must be made smaller;
// the others are read, so that nothing damaged is handed on, as far as there is time for it.

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "agent/imager/decode.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

struct Close {
  void operator()(GifFileType* gif) const { ::DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, Close>;

int Read(GifFileType* gif, GifByteType* to, int size) {
  auto* const left = static_cast<std::string_view*>(gif->UserData);
  const std::size_t taken = std::min(left->size(), static_cast<std::size_t>(std::max(size, 0)));
  std::memcpy(to, left->data(), taken);
  left->remove_prefix(taken);
  return static_cast<int>(taken);
}

absl::Status Damaged(const GifFileType* gif) {
  const char* const why = ::GifErrorString(gif->Error);
  return absl::InvalidArgumentError(why == nullptr ? "damaged" : why);
}

class Reader {
 public:
  Reader(Gif gif, DecodedImage* decoded) : gif_(std::move(gif)), decoded_(decoded) {}

  absl::Status ReadAll() {
    for (;;) {
      GifRecordType record = UNDEFINED_RECORD_TYPE;
      if (::DGifGetRecordType(gif_.get(), &record) == GIF_ERROR) return Damaged(gif_.get());
      if (record == TERMINATE_RECORD_TYPE) break;
      if (record == EXTENSION_RECORD_TYPE) RETURN_IF_ERROR(ReadExtension());
      if (record == IMAGE_DESC_RECORD_TYPE) RETURN_IF_ERROR(ReadFrame());
      if (!decoded_->plain) break;
    }
    return frames_ > 0 ? absl::OkStatus() : absl::InvalidArgumentError("no picture in it");
  }

 private:
  absl::Status ReadExtension() {
    int code = 0;
    GifByteType* block = nullptr;
    if (::DGifGetExtension(gif_.get(), &code, &block) == GIF_ERROR) return Damaged(gif_.get());
    while (block != nullptr) {
      GraphicsControlBlock control;
      // The length stands before the bytes.
      if (code == GRAPHICS_EXT_FUNC_CODE && frames_ == 0 &&
          ::DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
        transparent_ = control.TransparentColor;
      }
      if (::DGifGetExtensionNext(gif_.get(), &block) == GIF_ERROR) return Damaged(gif_.get());
    }
    return absl::OkStatus();
  }

  absl::Status ReadFrame() {
    if (::DGifGetImageDesc(gif_.get()) == GIF_ERROR) return Damaged(gif_.get());
    const GifImageDesc& frame = gif_->Image;
    RETURN_IF_ERROR(CheckPixels({frame.Width, frame.Height}, kMaxWholePixels));
    const Size canvas = decoded_->size;
    if (frame.Left < 0 || frame.Top < 0 || frame.Left + frame.Width > canvas.width ||
        frame.Top + frame.Height > canvas.height) {
      return absl::InvalidArgumentError("a frame that leaves the picture");
    }
    pixels_ += std::int64_t{frame.Width} * frame.Height;
    // The first one is enough of an animation that takes too long to check.
    if (frames_ > 0 && pixels_ > kMaxFramePixels) {
      decoded_->plain = false;
      return absl::OkStatus();
    }
    line_.resize(static_cast<std::size_t>(frame.Width));
    constexpr int kOffsets[] = {0, 4, 2, 1};
    constexpr int kSteps[] = {8, 8, 4, 2};
    if (!frame.Interlace) {
      RETURN_IF_ERROR(ReadLines(0, 1));
    } else {
      for (int pass = 0; pass < 4; ++pass) {
        RETURN_IF_ERROR(ReadLines(kOffsets[pass], kSteps[pass]));
      }
    }
    ++frames_;
    return absl::OkStatus();
  }

  absl::Status ReadLines(int from, int step) {
    for (int y = from; y < gif_->Image.Height; y += step) {
      if (::DGifGetLine(gif_.get(), line_.data(), gif_->Image.Width) == GIF_ERROR) {
        return Damaged(gif_.get());
      }
      if (frames_ == 0) RETURN_IF_ERROR(Paint(y));
    }
    return absl::OkStatus();
  }

  absl::Status Paint(int y) {
    const GifImageDesc& frame = gif_->Image;
    const ColorMapObject* const colours = frame.ColorMap ? frame.ColorMap : gif_->SColorMap;
    if (colours == nullptr) return absl::InvalidArgumentError("no colours");
    std::uint8_t* to =
        decoded_->bitmap.Row(frame.Top + y) + static_cast<std::ptrdiff_t>(frame.Left) * kChannels;
    for (const GifByteType index : line_) {
      if (index >= colours->ColorCount) return absl::InvalidArgumentError("an unknown colour");
      const GifColorType& colour = colours->Colors[index];
      const std::uint8_t alpha = index == transparent_ ? 0 : 255;
      const std::uint8_t pixel[kChannels] = {colour.Red, colour.Green, colour.Blue, alpha};
      std::memcpy(to, pixel, kChannels);
      to += kChannels;
    }
    return absl::OkStatus();
  }

  const Gif gif_;
  DecodedImage* const decoded_;
  std::vector<GifByteType> line_;
  int transparent_ = NO_TRANSPARENT_COLOR;
  int frames_ = 0;
  std::int64_t pixels_ = 0;
};

}  // namespace

absl::StatusOr<DecodedImage> DecodeGif(std::string_view bytes) {
  int error = 0;
  Gif gif(::DGifOpen(&bytes, &Read, &error));
  if (gif == nullptr) return absl::InvalidArgumentError("damaged");
  DecodedImage decoded;
  decoded.size = {gif->SWidth, gif->SHeight};
  RETURN_IF_ERROR(CheckPixels(decoded.size, kMaxWholePixels));
  decoded.bitmap = Bitmap(decoded.size.width, decoded.size.height);
  RETURN_IF_ERROR(Reader(std::move(gif), &decoded).ReadAll());
  return decoded;
}

}  // namespace sandkeep
