#include "agent/file_process/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

Glob::State StateAt(const Glob& glob, std::string_view path) {
  Glob::State state = glob.Start();
  if (path.empty()) return state;
  for (const std::string_view name : Split(path, '/')) state = glob.Step(state, name);
  return state;
}

bool Matches(std::string_view pattern, std::string_view path) {
  const Glob glob = *Glob::Parse(pattern);
  return glob.IsMatch(StateAt(glob, path));
}

bool LeadsInto(const Glob& glob, std::string_view folder) {
  return glob.LeadsOn(StateAt(glob, folder));
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
  EXPECT_TRUE(LeadsInto(glob, ""));
  EXPECT_TRUE(LeadsInto(glob, "src"));
  EXPECT_TRUE(LeadsInto(glob, "src/a"));
  EXPECT_FALSE(LeadsInto(glob, "doc"));
  EXPECT_FALSE(LeadsInto(glob, "src/a/b"));
  EXPECT_FALSE(LeadsInto(*Glob::Parse("**/x"), "node/.cache"));
}

TEST(GlobTest, FoldersWithADotAreEnteredByWhoSaysSo) {
  for (const std::string_view path : {"a", ".a", ".git/x", "node/.cache/.x/y", "a/b/c"}) {
    EXPECT_TRUE(Matches(".**", path)) << path;
    EXPECT_TRUE(Matches("**/.**", path)) << path;
    EXPECT_TRUE(Matches(".**/**", path)) << path;
  }
  EXPECT_TRUE(Matches(".**/x", "node/.cache/x"));
  EXPECT_FALSE(Matches(".**/x", "node/.cache/y"));
  EXPECT_FALSE(Matches("**", ".git/x"));
}

TEST(GlobTest, WhatIsNoPatternIsRefused) {
  for (const std::string& pattern :
       {std::string("/etc/*"), std::string("../*"), std::string("a/../b"), std::string(2000, '*'),
        std::string("a\0b", 3)}) {
    EXPECT_FALSE(Glob::Parse(pattern).ok()) << pattern;
  }
}

TEST(GlobTest, AnyFoldersMayStandAnywhereAndTwice) {
  EXPECT_TRUE(Matches("**/**/a", "a"));
  EXPECT_TRUE(Matches("**/a/**/b", "a/b"));
  EXPECT_TRUE(Matches("**/a/**/b", "x/a/y/z/b"));
  EXPECT_FALSE(Matches("**/a/**/b", "x/b"));
  EXPECT_TRUE(Matches("a/**/*", "a/b"));
  EXPECT_FALSE(Matches("a/**/*", "b/b"));
  EXPECT_TRUE(Matches("***x**", "axb"));
  EXPECT_TRUE(Matches("a*/*b", "a/b"));
  EXPECT_FALSE(Matches("a*/*b", "ab"));
}

// The whole of a walk: as many entries as one looks at, each in a folder as deep as one goes, by a
// pattern that may stand at every one of its places. Took minutes when each path was matched anew.
TEST(GlobTest, ManyAnyFoldersOverADeepTreeTakeNoTime) {
  std::string pattern;
  while (pattern.size() + 6 <= kMaxPatternBytes) pattern += "**/a*/";
  pattern += "b";
  const Glob glob = *Glob::Parse(pattern);
  const std::string name(kMaxNameBytes, 'a');
  const auto begin = std::chrono::steady_clock::now();
  int matches = 0;
  for (int entry = 0; entry < kMaxWalkedEntries;) {
    Glob::State state = glob.Start();
    for (int depth = 0; depth < kMaxFolderDepth; ++depth, ++entry) {
      state = glob.Step(state, name);
      matches += glob.IsMatch(state) ? 1 : 0;
    }
    EXPECT_TRUE(glob.LeadsOn(state));
  }
  EXPECT_EQ(matches, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// Each of them was looked for to the pattern's end at each byte of each name.
TEST(GlobTest, BracketsWithoutAnEndAreReadOnce) {
  const std::string brackets(100, '[');
  const std::string pattern = "*" + brackets + "b" + std::string(kMaxPatternBytes - 102, '[');
  const Glob glob = *Glob::Parse(pattern);
  const std::string name(255, '[');
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(glob.IsMatch(glob.Step(glob.Start(), name)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sandkeep
