// What one result shows of a job's output: its head and its tail, whatever it printed in between.
//
// Holds at most twice the limit while bytes come in. Offsets are raw bytes; a part that was dropped
// or skipped is a jump of the offset. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandkeep::mcp {

class OutputWindow {
 public:
  // `limit`: of the text in bytes; at least 1 KiB.
  explicit OutputWindow(std::size_t limit) : limit_(limit) {}

  // Offsets only grow; what was given already is skipped.
  void Append(std::int64_t offset, std::string_view bytes);

  // Nothing more comes before `offset`.
  void SkipTo(std::int64_t offset);

  // Where the next byte is expected: all that is known to have been printed.
  std::int64_t end() const { return end_; }

  // How much of the end is worth giving.
  std::int64_t tail_bytes() const { return static_cast<std::int64_t>(limit_ / 2); }

  struct Text {
    std::string text;  // UTF-8, at most `limit` bytes.
    bool cut = false;  // Something was left out.
  };
  Text Render() const;

 private:
  bool whole() const { return kept() == end_; }
  std::int64_t kept() const { return static_cast<std::int64_t>(head_.size() + tail_.size()); }
  std::string LastBytes(std::size_t count) const;

  const std::size_t limit_;
  std::string head_;
  std::string tail_;
  // A jump: nothing is added to the head any more, and the tail doesn't continue it.
  bool head_closed_ = false;
  std::int64_t end_ = 0;
};

}  // namespace sandkeep::mcp
