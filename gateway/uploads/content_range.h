// The Content-Range of a piece that is sent to us: `bytes FIRST-LAST/TOTAL`. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sandkeep {

struct ContentRange {
  std::int64_t first = 0;
  std::int64_t length = 0;
  std::int64_t total = 0;

  // nullopt: not of this form, empty, or beyond its own total.
  static std::optional<ContentRange> Parse(std::string_view header);
};

}  // namespace sandkeep
