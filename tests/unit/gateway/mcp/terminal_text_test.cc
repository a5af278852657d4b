#include "gateway/mcp/tools/terminal_text.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

using namespace std::string_view_literals;

class Parts : public TextSink {
 public:
  void Add(std::string_view text, std::int64_t end) override {
    EXPECT_GE(end, end_);
    end_ = end;
    text_ += text;
  }

  std::string text_;
  std::int64_t end_ = 0;
};

// In pieces as long as `lengths` say, in turn.
std::string InPieces(std::string_view bytes, const std::vector<std::size_t>& lengths,
                     std::size_t max_line) {
  Parts parts;
  TerminalText filter(parts, 0, max_line);
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const std::size_t length = std::min(lengths[i % lengths.size()], bytes.size());
    filter.Append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    EXPECT_TRUE(IsUtf8(filter.OpenLine()));
  }
  filter.Finish();
  return parts.text_;
}

struct Case {
  std::string_view name;
  std::string_view raw;
  std::string_view text;
};

constexpr Case kCases[] = {
    {"nothing", "", ""},
    {"plain", "a\n\tb c\n", "a\n\tb c\n"},
    {"no line end", "abc", "abc"},
    {"empty lines", "\n\n\n", "\n\n\n"},
    {"other line ends", "a\r\nb\r\n", "a\nb\n"},
    {"doubled carriage returns", "a\r\r\nb", "a\nb"},
    {"progress", "10%\r50%\r100%\n", "100%\n"},
    {"progress without an end", "10%\r50%", "50%"},
    {"progress that is about to go on", "10%\r50%\r", "50%"},
    {"a shorter state leaves the rest", "abcdef\rXY\n", "XYcdef\n"},
    {"a shorter state with blanks", "downloading\rdone       \n", "done\n"},
    {"a shorter state erases", "downloading\rdone\x1b[K\n", "done\n"},
    {"erased before it is written", "downloading\r\x1b[Kdone\n", "done\n"},
    {"erased whole", "downloading\x1b[2K\rdone\n", "done\n"},
    {"erased to the cursor", "abc\x1b[1K\rX\n", "X\n"},
    {"to a column", "abcdef\x1b[1GX\x1b[4GY\n", "XbcYef\n"},
    {"to a column far away", "ab\x1b[999GX\n", "abX\n"},
    {"characters overwritten", "größe 1\rgröße 2\n", "größe 2\n"},
    {"four bytes overwritten", "😀😀\r€\n", "€😀\n"},
    {"backspace", "abc\b\bX\n", "aXc\n"},
    {"spinner", "work |\b/\b-\b\\\bok\n", "work ok\n"},
    {"backspace at the start", "\b\bab\n", "ab\n"},
    {"bold of man", "N\bNA\bA_\bM\n", "NAM\n"},
    {"colours", "\x1b[1;31mred\x1b[0m \x1b[38;5;200mpink\x1b[m\n", "red pink\n"},
    {"modes", "\x1b[?25lhidden\x1b[?25h\n", "hidden\n"},
    {"title", "\x1b]0;a title\aafter\n", "after\n"},
    {"title with a long end", "\x1b]0;a title\x1b\\after\n", "after\n"},
    {"hyperlink", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"},
    {"title without an end", "\x1b]0;a title\nnext\n", "\nnext\n"},
    {"device string", "\x1bPq#0;2\x1b\\x\n", "x\n"},
    {"charset", "\x1b(Bx\x1b)0y\n", "xy\n"},
    {"single",
     "\x1b"
     "7a\x1b"
     "8b\x1b=c\x1b"
     "cd\n",
     "abcd\n"},
    {"sequence cut short by a line end", "\x1b[3\nx\n", "\nx\n"},
    {"sequence cut short by another", "\x1b[3\x1b[31mx\n", "x\n"},
    {"sequence cut short by a character", "\x1b[3é\n", "é\n"},
    {"escape at the end", "x\x1b", "x"},
    {"bell and other controls",
     "a\ab\x01\x7f\x0e"
     "c\n",
     "abc\n"},
    {"controls of eight bits",
     "a\xc2\x9b"
     "b\xc2\x85"
     "c\n",
     "abc\n"},
    {"invalid bytes", "caf\xe9 \xff\xfe\n", "caf\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\n"},
    {"character cut short", "\xe2\x82x\xf0\x9f\n",
     "\xEF\xBF\xBD\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD\n"},
    {"character cut short by another", "\xf0\x9f\xe2\x82\xac", "\xEF\xBF\xBD\xEF\xBF\xBD€"},
    {"surrogates and overlong forms", "\xed\xa0\x80\xc0\xaf",
     "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"NUL", "a\0b\n"sv, "ab\n"},
};

TEST(TerminalText, IsWhatATerminalWouldHaveKept) {
  for (const Case& one : kCases) EXPECT_EQ(CleanText(one.raw), one.text) << one.name;
}

TEST(TerminalText, AnySplitGivesTheSameText) {
  for (const Case& one : kCases) {
    for (const std::vector<std::size_t>& lengths :
         {std::vector<std::size_t>{1}, {2}, {3}, {1, 2}, {5, 1}, {7}}) {
      EXPECT_EQ(InPieces(one.raw, lengths, 4096), one.text) << one.name;
    }
  }
}

TEST(TerminalText, AnySplitOfAnythingGivesTheSameValidText) {
  constexpr std::string_view kWords[] = {
      "a",    "bc",    "é",    "€",        "😀", "\n",   "\r",      "\b",    "\t",
      "\x1b", "\x1b[", "31m",  "K",        "2K", "G",    "\x1b]0;", "\a",    "\x1b\\",
      "\xe2", "\x82",  "\xff", "\xf0\x9f", " ",  "\x7f", "10%\r",   "\x1bP", "long words of text "};
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string raw;
    for (std::size_t i = random() % 60; i > 0; --i) raw += kWords[random() % std::size(kWords)];
    const std::size_t max_line = 4 + random() % 40;
    const std::string whole = InPieces(raw, {raw.size() + 1}, max_line);
    EXPECT_TRUE(IsUtf8(whole));
    EXPECT_EQ(whole.find_first_of("\x1b\r\b\a"), std::string::npos);
    std::vector<std::size_t> lengths;
    for (int i = 0; i < 5; ++i) lengths.push_back(1 + random() % 6);
    EXPECT_EQ(InPieces(raw, lengths, max_line), whole);
    EXPECT_EQ(InPieces(raw, {1}, max_line), whole);
  }
}

// What one result couldn't show whole, the next begins with.
TEST(TerminalText, GoingOnWhereItCanBeResumedLosesAndDoublesNothing) {
  const std::string raw = "a€b\x1b[31mc\x1b]0;t\adé\n\xf0\x9f\x98\x80z\n";
  for (std::size_t cut = 0; cut <= raw.size(); ++cut) {
    Parts first;
    TerminalText filter(first, 0, 4096);
    filter.Append(std::string_view(raw).substr(0, cut));
    const std::string shown = first.text_ + filter.OpenLine();
    const auto resume = static_cast<std::size_t>(filter.resume());
    ASSERT_LE(resume, cut);
    EXPECT_EQ(shown + CleanText(std::string_view(raw).substr(resume)), CleanText(raw)) << cut;
  }
}

TEST(TerminalText, CountsWhatIsNoText) {
  Parts parts;
  TerminalText filter(parts, 0, 4096);
  filter.Append("caf\xe9 \xe2\x82");
  EXPECT_EQ(filter.invalid_bytes(), 1);
  EXPECT_FALSE(filter.has_nul());
  filter.Append("x\0"sv);
  EXPECT_EQ(filter.invalid_bytes(), 3);
  EXPECT_TRUE(filter.has_nul());
}

TEST(TerminalText, ALineTooLongToBeOverwrittenStays) {
  const std::string line(100, 'x');
  EXPECT_EQ(InPieces(line + "\rnew\n", {1000}, 64), line + "\nnew\n");
  EXPECT_EQ(InPieces(line + "\r\n", {1000}, 64), line + "\n");
  std::string bar = "begin\r";
  for (int i = 0; i < 1000; ++i) bar += "y\r";
  EXPECT_EQ(InPieces(bar, {3}, 64), "yegin");
}

TEST(TerminalText, ASequenceWithoutAnEndDoesNotSwallowTheRest) {
  const std::string text = CleanText(StrCat("\x1b]0;", std::string(100'000, 'x'), "\nthe end\n"));
  EXPECT_EQ(text.substr(text.size() - 9), "\nthe end\n");
  EXPECT_GT(text.size(), 90'000u);
}

TEST(TerminalText, PiecesEndWhereTheirBytesEnd) {
  Parts parts;
  TerminalText filter(parts, 1000, 16);
  filter.Append("one\n\x1b[1mtwo\x1b[0m\nthr");
  EXPECT_EQ(parts.text_, "one\ntwo\n");
  EXPECT_EQ(parts.end_, 1000 + 4 + 12);
  filter.SkipTo(5000);
  EXPECT_EQ(parts.text_, "one\ntwo\nthr");
  filter.Append("x\n");
  EXPECT_EQ(parts.end_, 5002);
}

}  // namespace
}  // namespace sandkeep::mcp
