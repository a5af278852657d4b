// Garbage collection takes what nobody needs, and when in doubt nothing.

#include <gmock/gmock.h>

#include <filesystem>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class GarbageTest : public AgentTest {
 protected:
  GarbageTest() { limits_.gc_delete = true; }

  GarbageDecision OnlyDecision(bool dry_run) {
    const auto garbage = Wait(manager().CollectGarbage(dry_run));
    EXPECT_TRUE(garbage.ok()) << garbage.status();
    EXPECT_THAT(garbage->decisions, SizeIs(1));
    EXPECT_EQ(garbage->dry_run, dry_run || !limits_.gc_delete);
    return garbage->decisions.at(0);
  }
  void UseAndLeave() {
    OutputOf(alice_, "otter", "echo kept >file");
    clock_.Advance(absl::Seconds(1));
    OutputOf(alice_, "otter", "true");
    ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "otter"), false)).ok());
  }
};

TEST_F(GarbageTest, AnUnusedSandboxIsNamedAfterItsTimeAndKept) {
  UseAndLeave();
  clock_.Advance(limits_.volume_ttl - absl::Seconds(1));
  EXPECT_THAT(OnlyDecision(false).reason, HasSubstr("unused for 167 h of 168"));
  clock_.Advance(absl::Seconds(1));
  const GarbageDecision decision = OnlyDecision(false);
  EXPECT_FALSE(decision.remove);
  EXPECT_THAT(decision.reason, HasSubstr("unused for 168 h of 168: kept"));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

TEST_F(GarbageTest, LeftoversGoOnlyWithLeaveToDelete) {
  std::filesystem::create_directory(StrCat(state_dir_, "/spools/left"));
  const auto would = Wait(manager().CollectGarbage(true));
  ASSERT_TRUE(would.ok()) << would.status();
  ASSERT_THAT(would->decisions, SizeIs(1));
  EXPECT_TRUE(would->decisions.at(0).remove);
  EXPECT_TRUE(std::filesystem::exists(StrCat(state_dir_, "/spools/left")));
  ASSERT_TRUE(Wait(manager().CollectGarbage(false)).ok());
  EXPECT_FALSE(std::filesystem::exists(StrCat(state_dir_, "/spools/left")));
}

TEST_F(GarbageTest, WhatRunsIsKeptHoweverOld) {
  auto started = Start(alice_, "otter", "echo up; sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  clock_.Advance(2 * limits_.volume_ttl);
  const GarbageDecision decision = OnlyDecision(false);
  EXPECT_FALSE(decision.remove);
  EXPECT_THAT(decision.reason, HasSubstr("in use"));
}

TEST_F(GarbageTest, OneWhoseAgeIsUnknownIsKept) {
  UseAndLeave();
  Die();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(StrCat(state_dir_, "/agent.db", suffix));
  }
  clock_.Advance(2 * limits_.volume_ttl);
  Boot();
  const GarbageDecision decision = OnlyDecision(false);
  EXPECT_FALSE(decision.remove);
  EXPECT_THAT(decision.reason, HasSubstr("isn't known"));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

}  // namespace
}  // namespace sandkeep
