#include "gateway/mcp/tools/text_edit.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "gateway/mcp/tools/line_window.h"

namespace sandkeep::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string WhyNot(std::string_view text, std::string_view old_text) {
  return EditText(text, old_text, "new", false).status().ToString();
}

TEST(EditTextTest, ReplacesExactlyThatAndNothingElse) {
  const auto edited = EditText("a\r\nb\r\nno feed", "b\r\n", "B", false);
  ASSERT_TRUE(edited.ok()) << edited.status();
  EXPECT_EQ(edited->text, "a\r\nBno feed");
  EXPECT_THAT(edited->lines, ElementsAre(2));
  EXPECT_EQ(EditText("one two", "two", "", false)->text, "one ");
  EXPECT_EQ(EditText(std::string("\0x\xff", 3), "x", "y", false)->text, std::string("\0y\xff", 3));
}

TEST(EditTextTest, ReplacesAllIfAsked) {
  const auto edited = EditText("x\nx\n\nxx", "x", "yy", true);
  EXPECT_EQ(edited->text, "yy\nyy\n\nyyyy");
  EXPECT_THAT(edited->lines, ElementsAre(1, 2, 4, 4));
  // What was put in isn't looked at again.
  EXPECT_EQ(EditText("aa", "a", "aa", true)->text, "aaaa");
}

TEST(EditTextTest, SaysWhereItIsIfItIsThereTwice) {
  EXPECT_THAT(WhyNot("x\ny\nx\n", "x"), HasSubstr("at lines 1, 3: give more"));
}

TEST(EditTextTest, SaysWhatIsNearIfItIsNotThere) {
  EXPECT_THAT(WhyNot("a\r\nb\r\n", "a\nb\n"), HasSubstr("lines end with \\r\\n"));
  EXPECT_THAT(WhyNot("a\nb\n", "a\r\nb\r\n"), HasSubstr("lines end with \\n alone"));
  EXPECT_THAT(WhyNot("1\nif x:\n\treturn\n", "if x:\n    return"),
              HasSubstr("at line 2 it stands with other blanks"));
  EXPECT_THAT(WhyNot("1\n2\nint main() {\n  go();\n", "int main() {\n  stop();\n"),
              HasSubstr("first line stands at line 3"));
  EXPECT_THAT(WhyNot("a\n", "zebra"), HasSubstr("not even its first line"));
}

// Tried at each place to its end, this would take hours.
TEST(EditTextTest, ATextThatNearlyFitsEverywhereTakesNoLonger) {
  const std::string text(4 << 20, 'a');
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(WhyNot(text, std::string(1 << 20, 'a') + "b"), HasSubstr("not even its first line"));
  EXPECT_THAT(WhyNot(text, "b" + std::string(1 << 20, 'a')), HasSubstr("not even its first line"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(EditTextTest, RefusesWhatWouldDoNothing) {
  EXPECT_THAT(WhyNot("a", ""), HasSubstr("old_text is empty"));
  EXPECT_THAT(WhyNot("a", "new"), HasSubstr("are the same"));
}

// ---- Lines of a file ----

TEST(LineWindowTest, KeepsItsLinesHoweverTheFileComes) {
  for (const std::size_t chunk : {1u, 2u, 3u, 100u}) {
    LineWindow window(2, 2, 100);
    const std::string text = "one\ntwo\r\nthree\nfour\n";
    for (std::size_t at = 0; at < text.size(); at += chunk) window.Add(text.substr(at, chunk));
    EXPECT_EQ(window.text(), "two\r\nthree\n") << chunk;
    EXPECT_EQ(window.next_line(), 4) << chunk;
    EXPECT_TRUE(window.full());
    EXPECT_TRUE(window.passed_over());
  }
}

TEST(LineWindowTest, ALastLineWithoutItsEndIsALine) {
  LineWindow window(1, 10, 100);
  window.Add("a\nb");
  EXPECT_EQ(window.text(), "a\nb");
  EXPECT_EQ(window.lines_seen(), 2);
  EXPECT_FALSE(window.full());
  EXPECT_FALSE(window.passed_over());
}

TEST(LineWindowTest, IsCutWhereThereIsNoMoreRoom) {
  LineWindow window(1, 10, 4);
  window.Add("ab\ncdef\n");
  EXPECT_EQ(window.text(), "ab\nc");
  EXPECT_TRUE(window.cut());
  EXPECT_EQ(window.next_line(), 2);
}

}  // namespace
}  // namespace sandkeep::mcp
