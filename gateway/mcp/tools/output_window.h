// What one result shows of a job's output: as the text that a terminal would have kept, its head
// and its tail, whatever it printed in between.
//
// Holds at most twice the limit while bytes come in. Offsets are raw bytes, and may begin anywhere
// in the job's output; a part that was dropped or skipped is a jump of the offset. One owner, one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/tools/terminal_text.h"

namespace sandkeep::mcp {

// How a reader gets at what a result leaves out. `job` as shown; both may be empty.
struct WayToTheRest {
  std::string job;
  std::string link;     // Of all the output, as a file.
  bool errors = false;  // It is stderr, where that is a stream of its own.
};

class OutputWindow : private TextSink {
 public:
  // `limit`: of the text in bytes; at least 1 KiB. `from`: where the output begins for this result.
  explicit OutputWindow(std::size_t limit, std::int64_t from = 0);
  OutputWindow(const OutputWindow&) = delete;
  OutputWindow& operator=(const OutputWindow&) = delete;

  // Offsets only grow; what was given already is skipped.
  void Append(std::int64_t offset, std::string_view bytes);

  // Nothing more comes before `offset`.
  void SkipTo(std::int64_t offset);

  // Nothing more comes at all.
  void Finish();

  // Where the next byte is expected: all that is known to have been printed.
  std::int64_t end() const { return end_; }
  // Where the next result goes on: before the end, if that is inside a character or a sequence.
  std::int64_t resume() const { return filter_.resume(); }

  // How much of the end is worth giving.
  std::int64_t tail_bytes() const { return static_cast<std::int64_t>(limit_ / 2); }

  struct Text {
    std::string text;  // UTF-8, at most `limit` bytes.
    bool cut = false;  // Something was left out.
  };
  Text Render(const WayToTheRest& way) const;
  // It will leave something out: a link to all of it is worth making.
  bool NeedsLink() const { return IsBinary() || IsCut(); }

  // The end of the text.
  std::string LastText(std::size_t bytes) const;

  // The last line with anything in it, for people who wait.
  std::string LastLine() const;

 private:
  // A part of the text and the raw bytes from which it came.
  struct Segment {
    std::string text;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  void Add(std::string_view text, std::int64_t end) override;
  void TrimTail();
  bool IsBinary() const;
  bool IsCut() const;
  std::string BinaryLine(const WayToTheRest& way) const;
  Text RenderCut(const Segment& open, const WayToTheRest& way) const;

  const std::size_t limit_;
  const std::size_t piece_;
  const std::int64_t from_;
  std::int64_t end_;
  TerminalText filter_;

  std::vector<Segment> head_;
  std::deque<Segment> tail_;
  std::size_t head_bytes_ = 0;
  std::size_t tail_text_bytes_ = 0;
  // Up to where the raw bytes are in the segments.
  std::int64_t settled_;
  // Nothing is added to the head any more.
  bool head_closed_ = false;
  // There was text, or there were bytes, between head and tail.
  bool dropped_ = false;

  std::string first_bytes_;
  std::int64_t seen_ = 0;
};

}  // namespace sandkeep::mcp
