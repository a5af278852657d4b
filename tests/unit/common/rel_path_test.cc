// No accepted path may leave the workspace, whatever its spelling.

#include "common/rel_path.h"

#include <gtest/gtest.h>

#include <string>

namespace sandkeep {
namespace {

TEST(RelPathTest, CleansWhatMeansTheSame) {
  EXPECT_EQ(RelPath::Parse("a//b/./c/")->bytes(), "a/b/c");
  EXPECT_EQ(RelPath::Parse("./report.pdf")->bytes(), "report.pdf");
  EXPECT_TRUE(RelPath::Parse("")->empty());
  EXPECT_TRUE(RelPath::Parse(".")->empty());
}

TEST(RelPathTest, RefusesWaysOut) {
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string(".."), std::string("a/../../b"),
        std::string("a/.."), std::string("a\0b", 3)}) {
    EXPECT_FALSE(RelPath::Parse(path).ok()) << path;
  }
}

TEST(RelPathTest, DotsInsideANameAreAName) {
  EXPECT_EQ(RelPath::Parse("..a/b..")->bytes(), "..a/b..");
  EXPECT_EQ(RelPath::Parse("...")->bytes(), "...");
}

TEST(RelPathTest, KeepsBytesThatAreNotUtf8) {
  EXPECT_EQ(RelPath::Parse("caf\xe9/x")->Name(), "x");
  EXPECT_EQ(RelPath::Parse("caf\xe9")->bytes(), "caf\xe9");
}

TEST(RelPathTest, HoldsTheKernelsLengths) {
  EXPECT_TRUE(RelPath::Parse(std::string(255, 'a')).ok());
  EXPECT_FALSE(RelPath::Parse(std::string(256, 'a')).ok());
  // PATH_MAX counts the NUL behind it.
  std::string deep(4095, 'a');
  for (std::size_t i = 1; i < deep.size(); i += 2) deep[i] = '/';
  EXPECT_TRUE(RelPath::Parse(deep).ok());
  EXPECT_FALSE(RelPath::Parse(deep + 'a').ok());
}

}  // namespace
}  // namespace sandkeep
