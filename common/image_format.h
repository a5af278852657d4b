// The four kinds of pictures that models are shown, told by their first bytes. That a file begins
// as one of them says nothing of the rest. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sandkeep {

enum class ImageFormat : std::uint8_t { kPng = 1, kJpeg, kGif, kWebP };

// So many bytes tell.
inline constexpr std::size_t kImageFormatBytes = 16;

std::optional<ImageFormat> ImageFormatOf(std::string_view head);
std::string_view MimeTypeOf(ImageFormat format);

}  // namespace sandkeep
