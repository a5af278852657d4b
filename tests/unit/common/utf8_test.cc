// One bad byte must not cost the model the whole output, and a cut must not make one.

#include "common/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sandkeep {
namespace {

TEST(Utf8Test, KnowsWhatIsValid) {
  EXPECT_TRUE(IsUtf8("plain"));
  EXPECT_TRUE(IsUtf8("ä€😀"));
  for (const char* bytes :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(IsUtf8(bytes));
  }
}

TEST(Utf8Test, ReplacesOnlyTheBadByte) {
  EXPECT_EQ(ToValidUtf8("a\xff"
                        "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(ToValidUtf8("\xe2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_TRUE(IsUtf8(ToValidUtf8(std::string("\x00\xf0\x9f\x98 ok", 8))));
}

TEST(Utf8Test, CutsBetweenCharacters) {
  const std::string text = "äöü";
  EXPECT_EQ(Utf8Head(text, 3), "ä");
  EXPECT_EQ(Utf8Head(text, 6), text);
  EXPECT_EQ(Utf8Head(text, 1), "");
}

}  // namespace
}  // namespace sandkeep
