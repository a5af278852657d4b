#include "gateway/mcp/tools/image_type.h"

#include <cstdint>

namespace sandkeep::mcp {
namespace {

using Found = std::optional<ImageType>;

int ByteAt(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<std::uint8_t>(bytes[at]) : 0;
}
int BigEndian16(std::string_view bytes, std::size_t at) {
  return ByteAt(bytes, at) << 8 | ByteAt(bytes, at + 1);
}
int LittleEndian16(std::string_view bytes, std::size_t at) {
  return ByteAt(bytes, at + 1) << 8 | ByteAt(bytes, at);
}
int LittleEndian24(std::string_view bytes, std::size_t at) {
  return ByteAt(bytes, at + 2) << 16 | LittleEndian16(bytes, at);
}

bool StartsWith(std::string_view bytes, std::string_view prefix) {
  return bytes.substr(0, prefix.size()) == prefix;
}

// A side of 2^24 and more is as unshowable as any other that is too long.
int BigEndian32(std::string_view bytes, std::size_t at) {
  const int high = ByteAt(bytes, at);
  const int low = ByteAt(bytes, at + 1) << 16 | BigEndian16(bytes, at + 2);
  return high == 0 ? low : 1 << 24;
}

Found Png(std::string_view bytes) {
  constexpr std::size_t kHeader = 24;
  if (bytes.size() < kHeader || bytes.substr(12, 4) != "IHDR") return std::nullopt;
  return ImageType{"image/png", BigEndian32(bytes, 16), BigEndian32(bytes, 20)};
}

Found Gif(std::string_view bytes) {
  if (bytes.size() < 10) return std::nullopt;
  return ImageType{"image/gif", LittleEndian16(bytes, 6), LittleEndian16(bytes, 8)};
}

bool IsFrameHeader(int marker) {
  // SOF0 to SOF15 without DHT, JPG and DAC, which lie between them.
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

Found Jpeg(std::string_view bytes) {
  std::size_t at = 2;
  while (at + 9 < bytes.size()) {
    if (ByteAt(bytes, at) != 0xFF) return std::nullopt;
    const int marker = ByteAt(bytes, at + 1);
    if (marker == 0xFF) {  // Fill.
      ++at;
      continue;
    }
    if (IsFrameHeader(marker)) {
      return ImageType{"image/jpeg", BigEndian16(bytes, at + 7), BigEndian16(bytes, at + 5)};
    }
    const int length = BigEndian16(bytes, at + 2);
    if (length < 2) return std::nullopt;
    at += 2 + static_cast<std::size_t>(length);
  }
  return std::nullopt;
}

Found WebP(std::string_view bytes) {
  if (bytes.size() < 30) return std::nullopt;
  const std::string_view chunk = bytes.substr(12, 4);
  if (chunk == "VP8X") {
    return ImageType{"image/webp", LittleEndian24(bytes, 24) + 1, LittleEndian24(bytes, 27) + 1};
  }
  if (chunk == "VP8 ") {
    return ImageType{"image/webp", LittleEndian16(bytes, 26) & 0x3FFF,
                     LittleEndian16(bytes, 28) & 0x3FFF};
  }
  if (chunk != "VP8L" || ByteAt(bytes, 20) != 0x2F) return std::nullopt;
  const int width = LittleEndian16(bytes, 21) & 0x3FFF;
  const int height = (LittleEndian24(bytes, 22) >> 6) & 0x3FFF;
  return ImageType{"image/webp", width + 1, height + 1};
}

}  // namespace

std::optional<ImageType> ImageTypeOf(std::string_view bytes) {
  Found found;
  if (StartsWith(bytes, "\x89PNG\r\n\x1A\n")) found = Png(bytes);
  if (StartsWith(bytes, "GIF87a") || StartsWith(bytes, "GIF89a")) found = Gif(bytes);
  if (StartsWith(bytes, "\xFF\xD8")) found = Jpeg(bytes);
  if (StartsWith(bytes, "RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP") {
    found = WebP(bytes);
  }
  if (found && (found->width < 1 || found->height < 1)) return std::nullopt;
  return found;
}

}  // namespace sandkeep::mcp
