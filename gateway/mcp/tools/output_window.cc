#include "gateway/mcp/tools/output_window.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

// Room for the figures of the line that says what is missing, and its words.
constexpr std::size_t kCutLineBytes = 240;
constexpr std::size_t kShownBinaryBytes = 16;
// Fewer bytes that are no text say nothing about the rest: a piece of text may be as short as a
// line.
constexpr std::int64_t kFewInvalidBytes = 3;
// The text is cut between segments: a sixteenth of the limit is fine enough.
constexpr std::size_t kSegmentsALimit = 16;

std::string OutputLink(const WayToTheRest& way) { return StrCat("[output](", way.link, ")"); }

std::string CutLine(std::int64_t from, std::int64_t to, std::int64_t total,
                    const WayToTheRest& way) {
  std::string line = StrCat("[… bytes ", from, " to ", to, " of ", total, " left out here: ");
  if (way.job.empty()) {
    line += "filter the output with grep, head or tail";
  } else {
    StrAppend(&line, "read_output with job ", way.job, way.errors ? ", stderr true" : "",
              " and offset ", from, " shows them");
  }
  if (!way.link.empty()) StrAppend(&line, "; all of it for the person: ", OutputLink(way));
  return line + " …]\n";
}

}  // namespace

OutputWindow::OutputWindow(std::size_t limit, std::int64_t from)
    : limit_(limit),
      piece_(limit / kSegmentsALimit),
      from_(from),
      end_(from),
      filter_(static_cast<TextSink&>(*this), from, std::min(piece_, kMaxOpenLineBytes)),
      settled_(from) {}

void OutputWindow::Append(std::int64_t offset, std::string_view bytes) {
  if (offset < end_) {
    const std::int64_t known = std::min<std::int64_t>(end_ - offset, bytes.size());
    bytes.remove_prefix(static_cast<std::size_t>(known));
    offset += known;
  }
  if (bytes.empty()) return;
  SkipTo(offset);
  end_ = offset + static_cast<std::int64_t>(bytes.size());
  seen_ += static_cast<std::int64_t>(bytes.size());
  if (first_bytes_.size() < kShownBinaryBytes) {
    first_bytes_ += bytes.substr(0, kShownBinaryBytes - first_bytes_.size());
  }
  filter_.Append(bytes);
}

void OutputWindow::SkipTo(std::int64_t offset) {
  if (offset <= end_) return;
  filter_.SkipTo(offset);
  head_closed_ = dropped_ = true;
  tail_.clear();
  tail_text_bytes_ = 0;
  end_ = settled_ = offset;
}

void OutputWindow::Finish() { filter_.Finish(); }

void OutputWindow::Add(std::string_view text, std::int64_t end) {
  if (!head_closed_ && head_bytes_ + text.size() > limit_) head_closed_ = true;
  const bool in_head = !head_closed_;
  Segment* last = nullptr;
  if (in_head && !head_.empty()) last = &head_.back();
  if (!in_head && !tail_.empty()) last = &tail_.back();
  if (last != nullptr && last->text.size() + text.size() <= piece_) {
    last->text += text;
    last->end = end;
  } else {
    Segment segment{.text = std::string(text), .begin = settled_, .end = end};
    if (in_head) {
      head_.push_back(std::move(segment));
    } else {
      tail_.push_back(std::move(segment));
    }
  }
  (in_head ? head_bytes_ : tail_text_bytes_) += text.size();
  settled_ = end;
  TrimTail();
}

// Only the last half can be shown.
void OutputWindow::TrimTail() {
  while (!tail_.empty() && tail_text_bytes_ - tail_.front().text.size() >= limit_ / 2) {
    tail_text_bytes_ -= tail_.front().text.size();
    tail_.pop_front();
    dropped_ = true;
  }
}

bool OutputWindow::IsBinary() const {
  const std::int64_t invalid = filter_.invalid_bytes();
  return filter_.has_nul() || (invalid > kFewInvalidBytes && invalid * 10 > seen_);
}

bool OutputWindow::IsCut() const {
  return dropped_ || head_bytes_ + tail_text_bytes_ + filter_.OpenLine().size() > limit_;
}

std::string OutputWindow::BinaryLine(const WayToTheRest& way) const {
  std::string line = StrCat("binary output, ", end_ - from_, " bytes, beginning with");
  for (const char c : first_bytes_) {
    absl::StrAppendFormat(&line, " %02x", static_cast<std::uint8_t>(c));
  }
  line += ": write it to a file, and hand that to the person";
  if (!way.link.empty()) StrAppend(&line, "; as it is, for the person: ", OutputLink(way));
  return line;
}

OutputWindow::Text OutputWindow::Render(const WayToTheRest& way) const {
  if (IsBinary()) return {BinaryLine(way), false};
  const Segment open{.text = filter_.OpenLine(), .begin = settled_, .end = filter_.resume()};
  if (IsCut()) return RenderCut(open, way);
  std::string text;
  text.reserve(head_bytes_ + tail_text_bytes_ + open.text.size());
  for (const Segment& segment : head_) text += segment.text;
  for (const Segment& segment : tail_) text += segment.text;
  text += open.text;
  return {std::move(text), false};
}

OutputWindow::Text OutputWindow::RenderCut(const Segment& open, const WayToTheRest& way) const {
  const std::size_t reserved = kCutLineBytes + way.job.size() + way.link.size();
  const std::size_t half = (limit_ - std::min(reserved, limit_ / 2)) / 2;
  std::string front;
  std::int64_t left_from = from_;
  std::size_t used = 0;
  for (; used < head_.size() && front.size() + head_[used].text.size() <= half; ++used) {
    front += head_[used].text;
    left_from = head_[used].end;
  }
  std::vector<const Segment*> shown;
  std::size_t room = half;
  std::int64_t left_to = end_;
  const auto take = [&](const Segment& segment) {
    if (segment.text.size() > room) return false;
    room -= segment.text.size();
    left_to = segment.begin;
    shown.push_back(&segment);
    return true;
  };
  bool more = take(open);
  for (std::size_t i = tail_.size(); more && i > 0; --i) more = take(tail_[i - 1]);
  for (std::size_t i = head_.size(); more && !dropped_ && i > used; --i) more = take(head_[i - 1]);
  std::string text = std::move(front);
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += CutLine(left_from, left_to, end_, way);
  for (std::size_t i = shown.size(); i > 0; --i) text += shown[i - 1]->text;
  return {std::move(text), true};
}

std::string OutputWindow::LastText(std::size_t bytes) const {
  std::vector<std::string_view> parts;
  const std::string open = filter_.OpenLine();
  std::size_t size = open.size();
  parts.push_back(open);
  const auto take = [&](const Segment& segment) {
    parts.push_back(segment.text);
    size += segment.text.size();
  };
  for (std::size_t i = tail_.size(); size < bytes && i > 0; --i) take(tail_[i - 1]);
  for (std::size_t i = head_.size(); size < bytes && i > 0; --i) take(head_[i - 1]);
  std::string text;
  for (std::size_t i = parts.size(); i > 0; --i) text += parts[i - 1];
  if (text.size() <= bytes) return text;
  const std::string_view tail = std::string_view(text).substr(text.size() - bytes);
  return ToValidUtf8(tail);
}

std::string OutputWindow::LastLine() const {
  std::string text = LastText(kMaxProgressBytes);
  text.erase(text.find_last_not_of(" \t\n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace sandkeep::mcp
