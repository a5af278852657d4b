// The Range header of RFC 9110: one range of bytes. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace sandkeep {

struct ByteRange {
  enum class Kind {
    kWhole,          // No range asked for, several, or a header that isn't understood: ignored.
    kPart,           // first to last, both within the file.
    kUnsatisfiable,  // 416
  };
  Kind kind = Kind::kWhole;
  std::int64_t first = 0;
  std::int64_t last = -1;

  // Of the part; the whole has none.
  std::int64_t length() const { return last - first + 1; }

  static ByteRange Parse(std::string_view header, std::int64_t size);
};

}  // namespace sandkeep
