// Who asks for a part that isn't there any more learns what it became, within bounds.

#include "agent/service/placed_parts.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/part_name.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

Generation Of(char byte) { return *Generation::FromBytes(std::string(16, byte)); }

FileEntry File(std::string path) {
  FileEntry entry;
  entry.path = std::move(path);
  return entry;
}

TEST(PlacedPartsTest, APartIsWhatItBecameInItsOwnVolume) {
  PlacedParts placed;
  EXPECT_FALSE(placed.Find(Of('a'), "d/.part").has_value());
  placed.Note(Of('a'), "d/.part", File("d/f"));
  EXPECT_EQ(placed.Find(Of('a'), "d/.part")->path, "d/f");
  EXPECT_FALSE(placed.Find(Of('b'), "d/.part").has_value());
  placed.Note(Of('a'), "d/.part", File("d/f (2)"));
  EXPECT_EQ(placed.Find(Of('a'), "d/.part")->path, "d/f (2)");
  placed.Forget(Of('a'), "d/.part");
  EXPECT_FALSE(placed.Find(Of('a'), "d/.part").has_value());
}

TEST(PlacedPartsTest, OnlySoManyAreRemembered) {
  PlacedParts placed;
  for (std::size_t i = 0; i < kMaxPlacedParts + 10; ++i) {
    placed.Note(Of('a'), StrCat(i), File("f"));
  }
  EXPECT_FALSE(placed.Find(Of('a'), "9").has_value());
  EXPECT_TRUE(placed.Find(Of('a'), "10").has_value());
}

TEST(PlacedPartsTest, OneThatBeginsAnewOverAndOverTakesOnePlace) {
  PlacedParts placed;
  placed.Note(Of('a'), "first", File("f"));
  for (std::size_t i = 0; i < 3 * kMaxPlacedParts; ++i) {
    placed.Note(Of('a'), "again", File("f"));
    placed.Forget(Of('a'), "again");
  }
  placed.Note(Of('a'), "again", File("f"));
  EXPECT_TRUE(placed.Find(Of('a'), "again").has_value());
}

TEST(PartNameTest, OnlyPartsAreParts) {
  EXPECT_TRUE(IsPartName(PartName("0a0b")));
  for (const std::string_view name : {"", ".part", ".sandkeep-", ".sandkeep-.part", "x.part"}) {
    EXPECT_FALSE(IsPartName(name)) << name;
  }
}

}  // namespace
}  // namespace sandkeep
