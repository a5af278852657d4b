// A command's raw output as the text that a reader of its terminal would have been left with: valid
// UTF-8, no colours or other sequences, a line that was overwritten (progress bars) in its last
// state.
//
// A filter: the same bytes give the same text, however they are cut into pieces. Each invalid byte
// becomes U+FFFD. Of the cursor it knows one line: carriage return, backspace, and the sequences
// that erase in the line or go to a column; what moves it to other lines is dropped. Holds at most
// `max_line` bytes of a line: of a longer one the beginning can't be overwritten any more. Offsets
// are raw bytes. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandkeep::mcp {

class TextSink {
 public:
  virtual ~TextSink() = default;
  // Text that stands, a whole line or a part of a long one. It ends before the raw byte `end`.
  virtual void Add(std::string_view text, std::int64_t end) = 0;
};

class TerminalText {
 public:
  // `offset`: of the first byte. The sink outlives it.
  TerminalText(TextSink& sink, std::int64_t offset, std::size_t max_line)
      : sink_(sink), max_line_(max_line), end_(offset) {}

  void Append(std::string_view bytes);

  // Nothing more comes: what was begun is over, and the open line stands.
  void Finish();

  // As Finish; what comes next begins at `offset`.
  void SkipTo(std::int64_t offset);

  // The line that isn't over yet, as it would be shown now.
  std::string OpenLine() const;

  // Where one can go on reading later without breaking a character or a sequence.
  std::int64_t resume() const { return end_ - static_cast<std::int64_t>(begun_); }

  // What of the bytes was no text.
  std::int64_t invalid_bytes() const { return invalid_; }
  bool has_nul() const { return nul_; }

 private:
  // Where in a sequence: after ESC, after ESC and a blank or more, after ESC [, after what begins a
  // string, and there after ESC.
  enum class State { kText, kEscape, kIntermediate, kControl, kString, kStringEscape };

  std::size_t TakePlain(std::string_view bytes);
  void TextByte(char byte);
  void ControlCharacter(char byte);
  void SequenceByte(char byte);
  void EndSequence();
  void EndControl(char command);
  void CharacterByte(char byte);
  void GiveUpCharacter();

  void Put(std::string_view character);
  void NewLine();
  void Backspace();
  void EraseInLine(int how);
  void GoTo(std::size_t column);
  // From text to characters.
  void Edit();
  // What there is of the line goes to the sink.
  void Stand(std::string_view line_end);

  TextSink& sink_;
  const std::size_t max_line_;
  std::int64_t end_;
  State state_ = State::kText;
  // Bytes of the character or the sequence under way.
  std::size_t begun_ = 0;
  std::string character_;
  std::string parameters_;

  // The open line. While it was only appended to, as text; once it was overwritten, as characters.
  std::string line_;
  std::u32string cells_;
  std::size_t cursor_ = 0;
  bool edited_ = false;
  // The cursor stands at the start of a line that is still plain.
  bool returned_ = false;
  // Its beginning was given to the sink already.
  bool continued_ = false;

  std::int64_t invalid_ = 0;
  bool nul_ = false;
};

// All of it at once.
std::string CleanText(std::string_view bytes);

}  // namespace sandkeep::mcp
