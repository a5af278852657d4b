#include "gateway/mcp/tools/output_window.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

// Room for the line that says what is missing.
constexpr std::size_t kCutLineBytes = 256;
constexpr std::size_t kShownBinaryBytes = 16;
constexpr std::size_t kMaxCharacterBytes = 4;

bool IsContinuation(char c) { return (static_cast<std::uint8_t>(c) & 0xC0) == 0x80; }

// Without a character that the cut broke in two.
std::string_view WithoutBrokenEnd(std::string_view bytes) {
  std::size_t lead = bytes.size();
  while (lead > 0 && bytes.size() - lead < kMaxCharacterBytes - 1) {
    --lead;
    if (!IsContinuation(bytes[lead])) break;
  }
  if (lead == bytes.size()) return bytes;
  const auto first = static_cast<std::uint8_t>(bytes[lead]);
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
  return bytes.size() - lead < length ? bytes.substr(0, lead) : bytes;
}

std::string_view WithoutBrokenStart(std::string_view bytes) {
  std::size_t start = 0;
  while (start < bytes.size() && start < kMaxCharacterBytes - 1 && IsContinuation(bytes[start])) {
    ++start;
  }
  return bytes.substr(start);
}

std::size_t InvalidBytes(std::string_view bytes) {
  std::size_t invalid = 0;
  for (;;) {
    bytes.remove_prefix(ValidUtf8Prefix(bytes));
    if (bytes.empty()) return invalid;
    ++invalid;
    bytes.remove_prefix(1);
  }
}

bool IsBinary(std::string_view head, std::string_view tail) {
  if (head.find('\0') != std::string_view::npos) return true;
  if (tail.find('\0') != std::string_view::npos) return true;
  return (InvalidBytes(head) + InvalidBytes(tail)) * 10 > head.size() + tail.size();
}

std::string BinaryLine(std::string_view head, std::int64_t total) {
  std::string line = StrCat("binary output, ", total, " bytes, beginning with");
  for (const char c : head.substr(0, kShownBinaryBytes)) {
    absl::StrAppendFormat(&line, " %02x", static_cast<std::uint8_t>(c));
  }
  line += ": write it to a file below /workspace and present it as a file";
  return line;
}

std::string CutLine(std::int64_t left_out, std::int64_t total) {
  return StrCat("\n[… ", left_out, " of ", total,
                " bytes left out here: write the output to a file below /workspace and read it in "
                "parts, or filter it with grep, head or tail …]\n");
}

}  // namespace

void OutputWindow::Append(std::int64_t offset, std::string_view bytes) {
  if (offset < end_) {
    const std::int64_t known = std::min<std::int64_t>(end_ - offset, bytes.size());
    bytes.remove_prefix(static_cast<std::size_t>(known));
    offset += known;
  }
  if (bytes.empty()) return;
  SkipTo(offset);
  end_ = offset + static_cast<std::int64_t>(bytes.size());
  if (!head_closed_) {
    const std::size_t room = std::min(limit_ - head_.size(), bytes.size());
    head_ += bytes.substr(0, room);
    bytes.remove_prefix(room);
  }
  // Only the last half can be shown; trimmed seldom, so that bytes are moved seldom.
  const std::size_t keep = limit_ / 2;
  if (bytes.size() >= keep) {
    tail_ = bytes.substr(bytes.size() - keep);
    return;
  }
  if (tail_.size() + bytes.size() > limit_) tail_.erase(0, tail_.size() + bytes.size() - keep);
  tail_ += bytes;
}

void OutputWindow::SkipTo(std::int64_t offset) {
  if (offset <= end_) return;
  head_closed_ = true;
  tail_.clear();
  end_ = offset;
}

std::string OutputWindow::LastBytes(std::size_t count) const {
  if (tail_.size() >= count) return tail_.substr(tail_.size() - count);
  if (!whole()) return tail_;
  const std::size_t from_head = std::min(count - tail_.size(), head_.size());
  return head_.substr(head_.size() - from_head) + tail_;
}

OutputWindow::Text OutputWindow::Render() const {
  const bool in_head = whole() && tail_.empty();
  if (in_head) {
    if (!head_.empty() && IsBinary(head_, {})) return {BinaryLine(head_, end_), false};
    std::string text = ToValidUtf8(head_);
    if (text.size() <= limit_) return {std::move(text), false};
  }
  std::size_t half = (limit_ - kCutLineBytes) / 2;
  // At most a tenth of text is invalid, and each of those bytes becomes three.
  const bool grows = in_head || InvalidBytes(std::string_view(head_).substr(0, half)) > 0 ||
                     InvalidBytes(WithoutBrokenStart(LastBytes(half))) > 0;
  if (grows) half = half * 5 / 6;
  const std::string_view front = WithoutBrokenEnd(std::string_view(head_).substr(0, half));
  const std::string last = LastBytes(half);
  const std::string_view back = WithoutBrokenStart(last);
  if (IsBinary(front, back)) return {BinaryLine(front, end_), false};
  const std::int64_t left_out = end_ - static_cast<std::int64_t>(front.size() + back.size());
  return {StrCat(ToValidUtf8(front), CutLine(left_out, end_), ToValidUtf8(back)), true};
}

}  // namespace sandkeep::mcp
