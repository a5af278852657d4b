#include "agent/imager/notes.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace sandkeep {
namespace {

// Numbers of either byte order; 0 beyond the end.
class Numbers {
 public:
  Numbers(std::string_view bytes, bool little) : bytes_(bytes), little_(little) {}

  std::uint32_t At(std::size_t at, int size) const {
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i) {
      const auto digit = static_cast<std::size_t>(little_ ? size - 1 - i : i);
      value = value << 8 | Byte(at + digit);
    }
    return value;
  }

 private:
  std::uint32_t Byte(std::size_t at) const {
    return at < bytes_.size() ? static_cast<std::uint8_t>(bytes_[at]) : 0;
  }

  std::string_view bytes_;
  bool little_;
};

bool StartsWith(std::string_view bytes, std::string_view prefix) {
  return bytes.substr(0, prefix.size()) == prefix;
}

constexpr std::string_view kExifPrefix("Exif\0\0", 6);
constexpr int kOrientationTag = 0x0112;
constexpr int kShort = 3;

// The bytes of a JPEG's segment, for each until the pixels begin.
void NoteSegment(int marker, std::string_view body, JpegNotes* notes) {
  if (marker == 0xE1 && StartsWith(body, kExifPrefix)) {
    notes->orientation = OrientationOf(body.substr(kExifPrefix.size()));
  }
  if (marker == 0xEE && StartsWith(body, "Adobe")) notes->adobe = true;
}

// What a PNG's pixels take unpacked, by its header's bytes; 0 if it makes no sense, for the decoder
// to say so. Interlacing has each row in up to seven parts.
std::uint64_t UnpackedBytes(std::string_view header) {
  constexpr std::uint64_t kChannels[] = {1, 0, 3, 1, 2, 0, 4};
  const Numbers numbers(header, /*little=*/false);
  const std::uint32_t colour = numbers.At(9, 1);
  if (colour >= std::size(kChannels)) return 0;
  const std::uint64_t bits = numbers.At(0, 4) * kChannels[colour] * numbers.At(8, 1);
  const std::uint64_t rows = numbers.At(4, 4);
  return numbers.At(12, 1) == 0 ? rows * (1 + (bits + 7) / 8) : rows * (8 + (bits + 7) / 8);
}

// What can't be packed takes a little more packed.
bool IsSwollen(std::uint64_t packed, std::uint64_t unpacked) {
  constexpr std::uint64_t kAround = 64 << 10;
  return unpacked > 0 && packed > unpacked + unpacked / 16 + kAround;
}

}  // namespace

int OrientationOf(std::string_view exif) {
  const bool little = StartsWith(exif, "II");
  if (!little && !StartsWith(exif, "MM")) return 1;
  const Numbers numbers(exif, little);
  if (numbers.At(2, 2) != 42) return 1;
  const std::size_t directory = numbers.At(4, 4);
  const std::uint32_t entries = numbers.At(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{i} * 12;
    if (entry + 12 > exif.size()) break;
    if (numbers.At(entry, 2) != kOrientationTag) continue;
    const std::uint32_t value = numbers.At(entry + 8, 2);
    const bool valid = numbers.At(entry + 2, 2) == kShort && value >= 1 && value <= 8;
    return valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

JpegNotes NotesOfJpeg(std::string_view bytes) {
  JpegNotes notes;
  const Numbers numbers(bytes, /*little=*/false);
  std::size_t at = 2;
  while (at + 4 <= bytes.size() && numbers.At(at, 1) == 0xFF) {
    const int marker = static_cast<int>(numbers.At(at + 1, 1));
    if (marker == 0xDA) break;  // The pixels.
    if (marker == 0xFF) {       // Fill.
      ++at;
      continue;
    }
    const std::size_t length = numbers.At(at + 2, 2);
    if (length < 2) break;
    NoteSegment(marker, bytes.substr(at + 4, length - 2), &notes);
    at += 2 + length;
  }
  return notes;
}

PngNotes NotesOfPng(std::string_view bytes) {
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kAround = 12;  // Length and name before a chunk's bytes, a sum after them.
  PngNotes notes;
  std::uint64_t packed = 0;
  std::uint64_t unpacked = 0;
  const Numbers numbers(bytes, /*little=*/false);
  for (std::size_t at = kSignature; at + kAround <= bytes.size();) {
    const std::size_t length = numbers.At(at, 4);
    const std::string_view name = bytes.substr(at + 4, 4);
    if (length > bytes.size() - at - kAround) break;
    if (name == "IHDR") unpacked = UnpackedBytes(bytes.substr(at + 8, length));
    if (name == "IDAT") packed += length;
    if (name == "eXIf") notes.orientation = OrientationOf(bytes.substr(at + 8, length));
    if (name == "IEND") {
      notes.whole = true;
      break;
    }
    at += kAround + length;
  }
  notes.swollen = IsSwollen(packed, unpacked);
  return notes;
}

}  // namespace sandkeep
