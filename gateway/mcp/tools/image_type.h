// What kind of image a file's first bytes are, and how large it is, without decoding it. Knows the
// four kinds that models are shown; a file that only claims to be one of them would end its
// conversation. Hostile input: every read is bounded. Any thread.
#pragma once

#include <optional>
#include <string_view>

namespace sandkeep::mcp {

struct ImageType {
  std::string_view mime_type;
  int width = 0;
  int height = 0;
};

// nullopt: none of PNG, JPEG, GIF, WebP, or its size can't be found.
std::optional<ImageType> ImageTypeOf(std::string_view bytes);

}  // namespace sandkeep::mcp
