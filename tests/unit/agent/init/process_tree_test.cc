// Names in /proc are the sandbox's to choose, and the picture is never of one moment.

#include "agent/init/process_tree.h"

#include <gmock/gmock.h>

namespace sandkeep::init {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::UnorderedElementsAre;

constexpr char kRest[] = " 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 3 0 55 0 0";

TEST(ProcessTreeTest, ReadsALineWhoseNameIsAsHostileAsItCanBe) {
  for (const char* name : {"bash", "a b", "x) Z 1 (y", ") R 1", "((("}) {
    const auto process = ParseStat(std::string("42 (") + name + ") T 7" + kRest);
    ASSERT_TRUE(process.has_value()) << name;
    EXPECT_EQ(process->pid, 42);
    EXPECT_EQ(process->parent, 7);
    EXPECT_TRUE(process->stopped());
    EXPECT_EQ(process->threads, 3);
  }
}

TEST(ProcessTreeTest, RefusesALineThatIsNone) {
  for (const char* text :
       {"", "42", "42 (bash", "42 (bash) S", "x (bash) S 1", ") (", "42 (b) SS 1"}) {
    EXPECT_FALSE(ParseStat(text).has_value()) << text;
  }
}

TEST(ProcessTreeTest, FindsEveryLivingDescendantPastDeadOnes) {
  const ProcessTree tree({{1, 0, 'S', 1},
                          {2, 1, 'S', 1},
                          {3, 2, 'Z', 1},
                          {4, 3, 'R', 1},
                          {5, 4, 'Z', 2},
                          {6, 1, 'S', 1}});
  EXPECT_THAT(tree.LivingBelow({2}),
              UnorderedElementsAre(Field(&Process::pid, 4), Field(&Process::pid, 5)));
  EXPECT_THAT(tree.ChildrenOf(2), ElementsAre(Field(&Process::pid, 3)));
}

TEST(ProcessTreeTest, EndsOnACircle) {
  const ProcessTree tree({{2, 3, 'S', 1}, {3, 2, 'S', 1}, {4, 4, 'S', 1}});
  EXPECT_THAT(tree.LivingBelow({2}), ElementsAre(Field(&Process::pid, 3)));
  EXPECT_THAT(tree.LivingBelow({4}), ElementsAre());
}

}  // namespace
}  // namespace sandkeep::init
