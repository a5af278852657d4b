// Two spellings that a person takes for one label must be one sandbox, and nothing else may be.

#include "common/label.h"

#include <gtest/gtest.h>

#include <string>

namespace sandkeep {
namespace {

std::string Normalised(std::string_view text) {
  const absl::StatusOr<Label> label = Label::Parse(text);
  return label.ok() ? label->text() : "refused: " + std::string(label.status().message());
}

TEST(LabelTest, SpellingsOfOneNameAreOneLabel) {
  for (const char* text :
       {"Amber Otter", "amber-otter", "AMBER__OTTER", " amber . otter ", "--amber-otter--"}) {
    EXPECT_EQ(Normalised(text), "amber-otter") << text;
  }
}

TEST(LabelTest, LettersOutsideAsciiStayAsTheyAre) {
  EXPECT_EQ(Normalised("Grüner Otter"), "grüner-otter");
  EXPECT_EQ(Normalised("琥珀 水獺"), "琥珀-水獺");
}

TEST(LabelTest, RefusesWhatNamesNothing) {
  for (const char* text : {"", "   ", "!?-_.", "---"}) {
    EXPECT_EQ(Normalised(text).substr(0, 8), "refused:") << text;
  }
}

TEST(LabelTest, RefusesTheSixtyFifthByte) {
  EXPECT_TRUE(Label::Parse(std::string(64, 'a')).ok());
  EXPECT_FALSE(Label::Parse(std::string(65, 'a')).ok());
}

TEST(LabelTest, RefusesWhatIsNotUtf8) {
  EXPECT_FALSE(Label::Parse("caf\xe9").ok());
  EXPECT_FALSE(Label::Parse("\xed\xa0\x80").ok()) << "a surrogate";
  EXPECT_FALSE(Label::Parse("\xc0\xaf").ok()) << "an overlong slash";
}

TEST(LabelTest, NormalisingTwiceChangesNothing) {
  for (const char* text : {"Amber Otter", "a--b", "Ünï côde 7", "x"}) {
    const std::string once = Normalised(text);
    EXPECT_EQ(Normalised(once), once);
  }
}

TEST(LabelTest, SlugIsShortAsciiAndNeverEmpty) {
  EXPECT_EQ(Label::Parse("Amber Otter")->Slug(), "amber-otter");
  EXPECT_EQ(Label::Parse("琥珀")->Slug(), "sb");
  EXPECT_EQ(Label::Parse("grün")->Slug(), "grn");
  EXPECT_EQ(Label::Parse("abcdefghijklmnopqrstuvw xyz")->Slug(), "abcdefghijklmnopqrstuvw")
      << "no dash at the cut";
}

}  // namespace
}  // namespace sandkeep
