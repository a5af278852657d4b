#include "gateway/mcp/tools/terminal_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/limits.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

constexpr char kNul = '\0';
constexpr char kBell = '\a';
constexpr char kCancel = '\x18';
constexpr char kSubstitute = '\x1A';
constexpr char kEscapeByte = '\x1B';
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
// Of a sequence's parameters, what any that we follow has.
constexpr std::size_t kMaxParameters = 16;

bool IsBetween(char byte, char first, char last) { return byte >= first && byte <= last; }

// Neither a control character nor a part of a longer one.
bool IsPlain(char byte) { return IsBetween(byte, ' ', '~') || byte == '\t'; }

// True if more bytes can make a character of it.
bool BeginsCharacter(std::string_view bytes) {
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() >= length) return false;
  if (bytes.size() == 1) return true;
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  const std::uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return false;
  return bytes.size() == 2 || (static_cast<std::uint8_t>(bytes[2]) & 0xC0) == 0x80;
}

// U+0080 to U+009F.
bool IsControl(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' &&
         static_cast<std::uint8_t>(character[1]) < 0xA0;
}

// Of valid UTF-8.
char32_t TakeCharacter(std::string_view* text) {
  const auto first = static_cast<std::uint8_t>(text->front());
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0x80 ? 2 : 1;
  char32_t character = length == 1 ? first : first & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    character = character << 6 | (static_cast<std::uint8_t>((*text)[i]) & 0x3F);
  }
  text->remove_prefix(length);
  return character;
}

void AppendCharacter(std::string* text, char32_t character) {
  if (character < 0x80) {
    *text += static_cast<char>(character);
    return;
  }
  const int more = character >= 0x10000 ? 3 : character >= 0x800 ? 2 : 1;
  *text += static_cast<char>(((0xFF << (7 - more)) & 0xFF) | character >> (6 * more));
  for (int i = more - 1; i >= 0; --i) {
    *text += static_cast<char>(0x80 | (character >> (6 * i) & 0x3F));
  }
}

class Collector : public TextSink {
 public:
  void Add(std::string_view text, std::int64_t /*end*/) override { text_ += text; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

void TerminalText::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t plain = TakePlain(bytes);
    bytes.remove_prefix(plain);
    if (plain > 0) continue;
    const char byte = bytes.front();
    bytes.remove_prefix(1);
    ++end_;
    nul_ = nul_ || byte == kNul;
    if (state_ == State::kText) {
      TextByte(byte);
    } else {
      SequenceByte(byte);
    }
  }
}

// Most output is nothing else: a whole run at once.
std::size_t TerminalText::TakePlain(std::string_view bytes) {
  if (state_ != State::kText || edited_ || returned_ || !character_.empty()) return 0;
  const std::size_t room = max_line_ - std::min(line_.size(), max_line_ - 1);
  bytes = bytes.substr(0, room);
  const std::size_t size = static_cast<std::size_t>(
      std::find_if_not(bytes.begin(), bytes.end(), IsPlain) - bytes.begin());
  line_ += bytes.substr(0, size);
  end_ += static_cast<std::int64_t>(size);
  if (line_.size() >= max_line_) Stand({});
  return size;
}

void TerminalText::TextByte(char byte) {
  if (!character_.empty() || static_cast<std::uint8_t>(byte) >= 0x80) return CharacterByte(byte);
  if (IsPlain(byte)) return Put(std::string_view(&byte, 1));
  ControlCharacter(byte);
}

void TerminalText::ControlCharacter(char byte) {
  switch (byte) {
    case '\n':
      return NewLine();
    case '\r':
      cursor_ = 0;
      returned_ = !edited_ && (continued_ || !line_.empty());
      return;
    case '\b':
      return Backspace();
    case kEscapeByte:
      state_ = State::kEscape;
      parameters_.clear();
      begun_ = 1;
      return;
    default:
      return;
  }
}

void TerminalText::CharacterByte(char byte) {
  character_ += byte;
  if (IsUtf8(character_)) {
    const std::string character = std::exchange(character_, {});
    begun_ = 0;
    if (!IsControl(character)) Put(character);
    return;
  }
  if (BeginsCharacter(character_)) {
    begun_ = character_.size();
    return;
  }
  if (character_.size() == 1) return GiveUpCharacter();
  // What came before was no character; this byte may begin one.
  character_.pop_back();
  --end_;
  GiveUpCharacter();
  ++end_;
  TextByte(byte);
}

void TerminalText::GiveUpCharacter() {
  const std::size_t count = std::exchange(character_, {}).size();
  begun_ = 0;
  invalid_ += static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) Put(kReplacement);
}

void TerminalText::SequenceByte(char byte) {
  ++begun_;
  if (begun_ > kMaxEscapeBytes || byte == kCancel || byte == kSubstitute) return EndSequence();
  if (state_ == State::kStringEscape) {
    if (byte == '\\') return EndSequence();
    state_ = State::kEscape;
    begun_ = 2;
  }
  if (byte == kEscapeByte) {
    const bool in_string = state_ == State::kString;
    state_ = in_string ? State::kStringEscape : State::kEscape;
    parameters_.clear();
    if (!in_string) begun_ = 1;
    return;
  }
  if (state_ == State::kString) {
    if (byte == kBell) return EndSequence();
    // No string has a line end: this one was never meant as one.
    if (byte != '\n') return;
  } else if (state_ == State::kEscape && byte == '[') {
    state_ = State::kControl;
    return;
  } else if (state_ == State::kEscape &&
             std::string_view("]PX^_").find(byte) != std::string::npos) {
    state_ = State::kString;
    return;
  } else if (state_ == State::kControl && IsBetween(byte, ' ', '?')) {
    if (parameters_.size() < kMaxParameters) parameters_ += byte;
    return;
  } else if (state_ == State::kControl && IsBetween(byte, '@', '~')) {
    return EndControl(byte);
  } else if (state_ != State::kControl && IsBetween(byte, ' ', '/')) {
    state_ = State::kIntermediate;
    return;
  } else if (state_ != State::kControl && IsBetween(byte, '0', '~')) {
    return EndSequence();
  }
  // Cut short by something else.
  EndSequence();
  TextByte(byte);
}

void TerminalText::EndSequence() {
  state_ = State::kText;
  begun_ = 0;
}

void TerminalText::EndControl(char command) {
  EndSequence();
  std::size_t number = 0;
  std::from_chars(parameters_.data(), parameters_.data() + parameters_.size(), number);
  if (command == 'K') EraseInLine(static_cast<int>(std::min<std::size_t>(number, 3)));
  if (command == 'G') GoTo(number > 0 ? number - 1 : 0);
}

void TerminalText::Put(std::string_view character) {
  // What the sink has can't be overwritten: it stays, and this is a line of its own.
  if (returned_ && continued_) NewLine();
  if (returned_) Edit();
  if (!edited_) {
    line_ += character;
    if (line_.size() >= max_line_) Stand({});
    return;
  }
  const char32_t cell = TakeCharacter(&character);
  if (cursor_ < cells_.size()) {
    cells_[cursor_] = cell;
  } else {
    cells_ += cell;
  }
  ++cursor_;
  if (cells_.size() >= max_line_) Stand({});
}

void TerminalText::NewLine() {
  Stand("\n");
  continued_ = false;
}

void TerminalText::Backspace() {
  if (returned_ || (!edited_ && line_.empty())) return;
  Edit();
  if (cursor_ > 0) --cursor_;
}

void TerminalText::EraseInLine(int how) {
  Edit();
  cursor_ = std::min(cursor_, cells_.size());
  if (how == 0) cells_.resize(cursor_);
  if (how == 1) std::fill_n(cells_.begin(), cursor_, U' ');
  if (how == 2) cells_.assign(cursor_, U' ');
}

void TerminalText::GoTo(std::size_t column) {
  Edit();
  cursor_ = std::min(column, cells_.size());
}

void TerminalText::Edit() {
  if (edited_) return;
  std::string_view text = line_;
  while (!text.empty()) cells_ += TakeCharacter(&text);
  cursor_ = returned_ ? 0 : cells_.size();
  line_.clear();
  edited_ = true;
  returned_ = false;
}

std::string TerminalText::OpenLine() const {
  if (!edited_) return line_;
  std::string text;
  for (const char32_t cell : cells_) AppendCharacter(&text, cell);
  // Blanks are how programs erase the rest of a longer line.
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

void TerminalText::Stand(std::string_view line_end) {
  std::string text = OpenLine();
  text += line_end;
  if (!text.empty()) sink_.Add(text, end_);
  line_.clear();
  cells_.clear();
  cursor_ = 0;
  edited_ = returned_ = false;
  continued_ = true;
}

void TerminalText::Finish() {
  if (!character_.empty()) GiveUpCharacter();
  EndSequence();
  Stand({});
}

void TerminalText::SkipTo(std::int64_t offset) {
  Finish();
  continued_ = false;
  end_ = offset;
}

std::string CleanText(std::string_view bytes) {
  Collector collector;
  TerminalText filter(collector, 0, kMaxOpenLineBytes);
  filter.Append(bytes);
  filter.Finish();
  return collector.Take();
}

}  // namespace sandkeep::mcp
