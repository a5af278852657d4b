#include "agent/file_process/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "common/limits.h"

namespace sandkeep {
namespace {

bool Matches(std::string_view pattern, std::string_view path) {
  return Glob::Parse(pattern)->Matches(path);
}

TEST(GlobTest, MatchesAsAShellDoes) {
  EXPECT_TRUE(Matches("*.py", "a.py"));
  EXPECT_FALSE(Matches("*.py", "d/a.py"));
  EXPECT_FALSE(Matches("*.py", "a.pyc"));
  EXPECT_TRUE(Matches("**/*.py", "a.py"));
  EXPECT_TRUE(Matches("**/*.py", "d/e/a.py"));
  EXPECT_TRUE(Matches("src/**/test_?.[ch]", "src/x/y/test_1.h"));
  EXPECT_FALSE(Matches("src/**/test_?.[ch]", "src/x/y/test_12.h"));
  EXPECT_TRUE(Matches("[!a-c]*", "dog"));
  EXPECT_FALSE(Matches("[!a-c]*", "cat"));
  EXPECT_TRUE(Matches("[]x]", "]"));
  EXPECT_TRUE(Matches("a[b", "a[b"));
  EXPECT_TRUE(Matches("[[a", "[[a"));
  EXPECT_FALSE(Matches("[[a", "a"));
  EXPECT_TRUE(Matches("[^\xc3]*", "a"));
  EXPECT_FALSE(Matches("[.]x", ".x"));
  EXPECT_TRUE(Matches("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(Matches("**", "a/b/c"));
  EXPECT_TRUE(Matches("d/**", "d/a"));
}

TEST(GlobTest, HiddenNamesAreMatchedByADotAlone) {
  EXPECT_FALSE(Matches("*", ".git"));
  EXPECT_FALSE(Matches("**/*", ".git/config"));
  EXPECT_TRUE(Matches(".*", ".git"));
  EXPECT_TRUE(Matches("", ".git"));
}

TEST(GlobTest, WithoutAPatternTheFolderItselfIsShown) {
  EXPECT_TRUE(Matches("", "a"));
  EXPECT_FALSE(Matches("", "d/a"));
}

TEST(GlobTest, LeadsOnlyIntoFoldersThatMayHoldAMatch) {
  const Glob glob = *Glob::Parse("src/*/x.c");
  EXPECT_TRUE(glob.LeadsInto(""));
  EXPECT_TRUE(glob.LeadsInto("src"));
  EXPECT_TRUE(glob.LeadsInto("src/a"));
  EXPECT_FALSE(glob.LeadsInto("doc"));
  EXPECT_FALSE(glob.LeadsInto("src/a/b"));
  EXPECT_FALSE(Glob::Parse("**/x")->LeadsInto("node/.cache"));
}

TEST(GlobTest, WhatIsNoPatternIsRefused) {
  for (const std::string& pattern :
       {std::string("/etc/*"), std::string("../*"), std::string("a/../b"), std::string(2000, '*'),
        std::string("a\0b", 3)}) {
    EXPECT_FALSE(Glob::Parse(pattern).ok()) << pattern;
  }
}

// Exponential ones would take longer than the universe has.
TEST(GlobTest, NoPatternTakesLong) {
  std::string stars;
  std::string folders;
  for (int i = 0; i < 200; ++i) {
    stars += "*a";
    folders += "**/a/";
  }
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "a/";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(Matches(stars + "b", std::string(255, 'a')));
  EXPECT_FALSE(Matches(folders + "b", deep + "c"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

// Each of them was looked for to the pattern's end at each byte of each name.
TEST(GlobTest, BracketsWithoutAnEndAreReadOnce) {
  const std::string brackets(100, '[');
  const std::string pattern = "*" + brackets + "b" + std::string(kMaxPatternBytes - 102, '[');
  const Glob glob = *Glob::Parse(pattern);
  const std::string name(255, '[');
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(glob.Matches(name));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sandkeep
