// The small parts of the tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/strings.h"
#include "gateway/mcp/base64.h"
#include "gateway/mcp/tools/nearest_names.h"
#include "gateway/mcp/tools/spelling.h"
#include "gateway/mcp/tools/words.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

using namespace std::string_view_literals;

TEST(Base64Test, FollowsTheVectorsOfRfc4648) {
  const std::pair<std::string_view, std::string_view> cases[] = {{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"},
                                                                 {"\xFF\xFE", "//4="}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(Base64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Base64Test, RefusesWhatIsNotCanonical) {
  for (const std::string_view text : {"Zg", "Zg=", "Zg===", "Zh==", "Z===", "====", "Zm9v ",
                                      "Zm\n=", "Zg==Zg==", "_-==", "=Zg="}) {
    EXPECT_FALSE(FromBase64(text).has_value()) << text;
  }
}

TEST(NearestNamesTest, PrefersTheSameName) {
  const std::vector<std::string> paths = {"a/plan.md", "b/plot.PNG", "plot.jpg", "plod.png", "z"};
  EXPECT_THAT(NearestNames("plot.png", paths, 3),
              testing::ElementsAre("b/plot.PNG", "plot.jpg", "plod.png"));
  EXPECT_THAT(NearestNames("nothing-like-it", paths, 3), testing::IsEmpty());
}

TEST(SpellingTest, FindsTheNameThatReadsAlike) {
  const std::string composed = "caf\u00e9/\u1ec7.txt";
  const std::string decomposed = "cafe\u0301/e\u0323\u0302.txt";
  EXPECT_EQ(SameSpelling(composed, {"cafe/e.txt", decomposed}), decomposed);
  EXPECT_EQ(SameSpelling(decomposed, {composed, "x"}), composed);
  EXPECT_FALSE(SameSpelling(composed, {"cafe/e.txt"}).has_value());
}

TEST(SpellingTest, DoesNotGuessBetweenTwoAndTakesNothingForText) {
  const std::string one = "\u1e69";
  const std::string other = "s\u0323\u0307";
  const std::string third = "s\u0307\u0323";
  EXPECT_FALSE(SameSpelling(one, {other, third}).has_value());
  EXPECT_FALSE(SameSpelling("\xff", {"\xff", "\xfe"}).has_value());
  EXPECT_EQ(SameSpelling("a\u0308", {"\xff", "\u00e4"}), "\u00e4");
  // Wide, stylised and small letters are others, not the same written otherwise.
  EXPECT_FALSE(SameSpelling("A", {"\uff21", "a"}).has_value());
}

TEST(WordsTest, SpansAndSizes) {
  using std::chrono::seconds;
  EXPECT_EQ(InWords(seconds(-3)), "0 s");
  EXPECT_EQ(InWords(seconds(90)), "90 s");
  EXPECT_EQ(InWords(seconds(3600)), "60 min");
  EXPECT_EQ(InWords(seconds(86400)), "24 h");
  EXPECT_EQ(InWords(seconds(604800)), "7 days");
  EXPECT_EQ(SizeInWords(1), "1 byte");
  EXPECT_EQ(SizeInWords(999), "999 bytes");
  EXPECT_EQ(SizeInWords(999'999), "1.0 MB");
  EXPECT_EQ(SizeInWords(12'345), "12.3 kB");
  EXPECT_EQ(OneLine("a\nb\x1B[31m\xFF", 100), "a b [31m\xEF\xBF\xBD");
  EXPECT_EQ(OneLine("éé", 3), "é");
}

TEST(VersionsTest, ModernOnesAreDatesFrom20260728On) {
  EXPECT_TRUE(NamesModernVersion("2026-07-28"));
  EXPECT_TRUE(NamesModernVersion("2031-01-01"));
  for (const std::string_view older :
       {"2026-07-27", "2025-11-25", "", "banana", "2026-07-28x", "9999-99-9a", "draft"}) {
    EXPECT_FALSE(NamesModernVersion(older)) << older;
  }
}

}  // namespace
}  // namespace sandkeep::mcp
