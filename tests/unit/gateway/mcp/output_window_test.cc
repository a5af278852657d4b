#include "gateway/mcp/tools/output_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

OutputWindow::Text Shown(std::string_view output, std::size_t limit = 1024,
                         std::size_t chunk = 100) {
  OutputWindow window(limit);
  for (std::size_t at = 0; at < output.size(); at += chunk) {
    window.Append(static_cast<std::int64_t>(at), output.substr(at, chunk));
  }
  window.Finish();
  return window.Render({.job = "00ff", .link = {}});
}

TEST(OutputWindow, ShortOutputIsWhole) {
  EXPECT_EQ(Shown("").text, "");
  EXPECT_EQ(Shown("a\nb\n").text, "a\nb\n");
  const std::string full(1024, 'x');
  EXPECT_EQ(Shown(full).text, full);
  EXPECT_FALSE(Shown(full).cut);
}

TEST(OutputWindow, LongOutputKeepsItsHeadAndItsTailAndSaysWhatIsMissing) {
  std::string output;
  for (int i = 0; i < 10'000; ++i) StrAppend(&output, "line ", i, "\n");
  const OutputWindow::Text shown = Shown(output);
  EXPECT_TRUE(shown.cut);
  EXPECT_LE(shown.text.size(), 1024u);
  EXPECT_GE(shown.text.size(), 800u);
  EXPECT_THAT(shown.text, StartsWith("line 0\nline 1\n"));
  EXPECT_THAT(shown.text, EndsWith("line 9998\nline 9999\n"));
  EXPECT_THAT(shown.text, HasSubstr(StrCat(" of ", output.size(), " left out here")));
}

// The figures of the line that says what is missing.
struct Missing {
  std::size_t from = 0;
  std::size_t to = 0;
};
Missing MissingOf(const std::string& text) {
  Missing missing;
  const std::size_t at = text.find("[… bytes ");
  EXPECT_NE(at, std::string::npos);
  std::istringstream figures(text.substr(at + std::string_view("[… bytes ").size()));
  std::string word;
  figures >> missing.from >> word >> missing.to;
  return missing;
}

TEST(OutputWindow, WhatIsMissingIsExactlyWhatIsBetweenTheParts) {
  for (const std::string_view line : {"short\n", "a line with \x1b[31mcolours\x1b[0m in it\n",
                                      "10%\r50%\r100% done\n", "x", "\n", "é😀€"}) {
    std::string output;
    while (output.size() < 9000) output += line;
    const std::string text = Shown(output).text;
    const Missing missing = MissingOf(text);
    const std::size_t cut = text.find("[… ");
    std::string head = text.substr(0, cut);
    const std::string tail = text.substr(text.find(" …]\n") + std::string_view(" …]\n").size());
    std::string shown_head = CleanText(output.substr(0, missing.from));
    if (shown_head.back() != '\n') shown_head += '\n';
    EXPECT_EQ(head, shown_head);
    EXPECT_EQ(tail, CleanText(output.substr(missing.to)));
    EXPECT_THAT(text, HasSubstr(StrCat("read_output with job 00ff and offset ", missing.from)));
  }
}

TEST(OutputWindow, ALinkToAllOfItIsAReadyLine) {
  OutputWindow window(4096);
  window.Append(0, std::string(50'000, 'x'));
  EXPECT_TRUE(window.NeedsLink());
  EXPECT_THAT(window.Render({.job = "1", .link = "https://box/dl/1"}).text,
              HasSubstr("[output](https://box/dl/1)"));
}

TEST(OutputWindow, AProgressBarOfMegabytesIsItsLastState) {
  std::string output = "begin\n";
  for (int i = 0; i <= 100'000; ++i) StrAppend(&output, "\rstep ", i, " of 100000");
  output += "\nend\n";
  const OutputWindow::Text shown = Shown(output, 1024, 1000);
  EXPECT_EQ(shown.text, "begin\nstep 100000 of 100000\nend\n");
  EXPECT_FALSE(shown.cut);
}

TEST(OutputWindow, ARunningJobsResultEndsBeforeACharacterOrSequenceThatIsNotWhole) {
  OutputWindow window(1024, 100);
  window.Append(100, "ab\xE2\x82");
  EXPECT_EQ(window.resume(), 102);
  EXPECT_EQ(window.Render({}).text, "ab");
  window.Append(104, "\xAC\x1b[3");
  EXPECT_EQ(window.resume(), 105);
  EXPECT_EQ(window.end(), 108);
  EXPECT_EQ(window.Render({}).text, "ab€");
  EXPECT_EQ(window.LastLine(), "ab€");
  window.Finish();
  EXPECT_EQ(window.resume(), 108);
}

TEST(OutputWindow, TheLastLineIsTheLastWithAnythingInIt) {
  OutputWindow window(1024);
  EXPECT_EQ(window.LastLine(), "");
  window.Append(0, "one\ntwo\n\n  \n");
  EXPECT_EQ(window.LastLine(), "two");
  window.Append(13, "50%\r60%");
  EXPECT_EQ(window.LastLine(), "60%");
}

TEST(OutputWindow, OneByteOverTheLimitIsCut) {
  EXPECT_TRUE(Shown(std::string(1025, 'x')).cut);
  EXPECT_LE(Shown(std::string(1025, 'x')).text.size(), 1024u);
}

TEST(OutputWindow, CharactersAreNeverBroken) {
  std::string output;
  while (output.size() < 20'000) output += "aé€😀";
  for (std::size_t skip = 0; skip < 8; ++skip) {
    for (const std::size_t chunk : {1, 3, 7, 1000, 30'000}) {
      const OutputWindow::Text shown = Shown(std::string(skip, 'x') + output, 1024, chunk);
      EXPECT_TRUE(IsUtf8(shown.text));
      EXPECT_THAT(shown.text, Not(HasSubstr("\xEF\xBF\xBD")));
      EXPECT_LE(shown.text.size(), 1024u);
    }
  }
}

TEST(OutputWindow, FewInvalidBytesAreReplaced) {
  EXPECT_EQ(Shown("caf\xE9 au lait, caf\xE9 noir").text,
            "caf\xEF\xBF\xBD au lait, caf\xEF\xBF\xBD noir");
}

TEST(OutputWindow, AShortPieceWithABadByteIsStillText) {
  EXPECT_EQ(Shown("caf\xE9\n").text, "caf\xEF\xBF\xBD\n");
  EXPECT_EQ(Shown("\xE9").text, "\xEF\xBF\xBD");
}

TEST(OutputWindow, ReplacedBytesDoNotBreakTheLimit) {
  std::string latin;
  while (latin.size() < 1000) latin += "eleven byte\xE9";
  EXPECT_LE(Shown(latin).text.size(), 1024u);
  EXPECT_TRUE(Shown(latin).cut);
  latin += latin;
  latin += latin;
  EXPECT_LE(Shown(latin).text.size(), 1024u);
}

TEST(OutputWindow, BinaryOutputIsOneLine) {
  using namespace std::string_view_literals;
  EXPECT_THAT(Shown("\x89PNG\r\n\x1A\n\0\0\0\rIHDR"sv).text,
              StartsWith("binary output, 16 bytes, beginning with 89 50 4e 47 0d 0a 1a 0a"));
  EXPECT_THAT(Shown("\xFF\xFE\xFD\xFC text").text, StartsWith("binary output, 9 bytes"));
  std::string large(100'000, '\0');
  EXPECT_THAT(Shown(large).text, StartsWith("binary output, 100000 bytes"));
  EXPECT_EQ(Shown(large).text.find('\n'), std::string::npos);
  EXPECT_THAT(Shown(large).text, HasSubstr("hand that to the person"));
}

TEST(OutputWindow, WhatWasDroppedCountsAsLeftOut) {
  OutputWindow window(1024);
  window.Append(0, "head\n");
  window.SkipTo(1'000'000);
  window.Append(1'000'000, "tail\n");
  const OutputWindow::Text shown = window.Render({});
  EXPECT_THAT(shown.text, StartsWith("head\n[… bytes 5 to 1000000 of 1000005 left out"));
  EXPECT_THAT(shown.text, EndsWith(" …]\ntail\n"));
}

TEST(OutputWindow, WhatWasDroppedAtTheEndCountsToo) {
  OutputWindow window(1024);
  window.Append(0, "head\n");
  window.SkipTo(2000);
  EXPECT_THAT(window.Render({}).text, HasSubstr("bytes 5 to 2000 of 2000 left out"));
}

TEST(OutputWindow, BytesGivenTwiceCountOnce) {
  OutputWindow window(1024);
  window.Append(0, "abcdef");
  window.Append(2, "cdefgh");
  window.Append(0, "abc");
  EXPECT_EQ(window.end(), 8);
  EXPECT_EQ(window.Render({}).text, "abcdefgh");
}

TEST(OutputWindow, AnyOutputInAnyPiecesIsValidAndWithinTheLimit) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    OutputWindow window(1024);
    std::string all;
    const int pieces = static_cast<int>(random() % 40);
    for (int i = 0; i < pieces; ++i) {
      std::string piece;
      const std::size_t size = random() % 300;
      const bool noisy = random() % 20 == 0;
      while (piece.size() < size) {
        piece += random() % 3 == 0 ? "é" : noisy ? std::string(1, char(0x80 + random() % 64)) : "a";
      }
      window.Append(static_cast<std::int64_t>(all.size()), piece);
      all += piece;
    }
    window.Finish();
    const OutputWindow::Text shown = window.Render({});
    EXPECT_TRUE(IsUtf8(shown.text));
    EXPECT_LE(shown.text.size(), 1024u);
    EXPECT_EQ(window.end(), static_cast<std::int64_t>(all.size()));
    if (!shown.cut && shown.text.substr(0, 6) != "binary") {
      EXPECT_EQ(shown.text, ToValidUtf8(all));
    }
  }
}

}  // namespace
}  // namespace sandkeep::mcp
