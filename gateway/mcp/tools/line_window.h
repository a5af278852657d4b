// Some lines out of a file that comes in chunks: only they are kept. Plain value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandkeep::mcp {

class LineWindow {
 public:
  // Lines count from 1 and end with a line feed; at most `max_bytes` are kept.
  LineWindow(std::int64_t first, std::int64_t count, std::size_t max_bytes)
      : first_(first), end_(first + count), max_bytes_(max_bytes) {}

  void Add(std::string_view bytes);

  // Nothing that follows belongs to it.
  bool full() const { return cut_ || line_ >= end_; }
  // Its last line is one that went on.
  bool cut() const { return cut_; }
  // There was more than it took.
  bool passed_over() const { return passed_over_; }
  const std::string& text() const { return text_; }
  // One behind the last whole line in it, or the line that was cut.
  std::int64_t next_line() const { return line_; }
  // Lines that were seen to begin.
  std::int64_t lines_seen() const { return at_line_start_ ? line_ - 1 : line_; }

 private:
  const std::int64_t first_;
  const std::int64_t end_;
  const std::size_t max_bytes_;
  std::int64_t line_ = 1;
  bool at_line_start_ = true;
  bool cut_ = false;
  bool passed_over_ = false;
  std::string text_;
};

}  // namespace sandkeep::mcp
