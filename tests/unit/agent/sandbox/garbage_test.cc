// Garbage collection takes what nobody needs, and when in doubt nothing.

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
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
  // Twice, since it isn't known when one was last used that was only made.
  void Use() {
    OutputOf(alice_, "otter", "echo kept >file");
    clock_.Advance(absl::Seconds(1));
    OutputOf(alice_, "otter", "true");
  }
  void UseAndLeave() {
    Use();
    ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "otter"), false)).ok());
  }
};

TEST_F(GarbageTest, AnUnusedSandboxGoesWithItsFilesAfterItsTime) {
  UseAndLeave();
  clock_.Advance(limits_.volume_ttl - absl::Seconds(1));
  EXPECT_FALSE(OnlyDecision(false).remove);
  EXPECT_THAT(OnlyDecision(false).reason, HasSubstr("unused for 167 h of 168"));
  EXPECT_THAT(runtime_.volumes(), SizeIs(1));
  clock_.Advance(absl::Seconds(1));
  const GarbageDecision decision = OnlyDecision(false);
  EXPECT_TRUE(decision.remove) << decision.reason;
  EXPECT_THAT(decision.reason, HasSubstr("unused for 168 h of 168, and no file changed for "));
  EXPECT_GT(decision.bytes, 0);
  EXPECT_THAT(runtime_.volumes(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(manager().Get(RefOf(alice_, "otter")).status()));
  const auto again = Run(alice_, "otter", "ls -A");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->started.arrival, Arrival::kNew);
  EXPECT_EQ(again->output, "");
}

TEST_F(GarbageTest, ADryRunSaysWhatWouldGoAndKeepsIt) {
  UseAndLeave();
  clock_.Advance(limits_.volume_ttl);
  EXPECT_TRUE(OnlyDecision(true).remove);
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

// Something outside the sandbox, or a process left behind, worked on long after its last use.
TEST_F(GarbageTest, AFileThatChangedSinceKeepsIt) {
  clock_.SetWallClock(absl::Now() - 2 * limits_.volume_ttl);
  UseAndLeave();
  clock_.Advance(2 * limits_.volume_ttl);
  const GarbageDecision decision = OnlyDecision(false);
  EXPECT_FALSE(decision.remove);
  EXPECT_THAT(decision.reason, HasSubstr("unused for 336 h of 168: kept, a file changed 0 h ago"));
  EXPECT_THAT(runtime_.volumes(), SizeIs(1));
}

TEST_F(GarbageTest, WhatCannotBeLookedAtKeepsIt) {
  UseAndLeave();
  const std::filesystem::path closed = runtime_.data(runtime_.volumes().front()) / "closed";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  clock_.Advance(limits_.volume_ttl);
  const GarbageDecision decision = OnlyDecision(false);
  EXPECT_FALSE(decision.remove);
  EXPECT_THAT(decision.reason, HasSubstr("kept, 1 of its entries couldn't be looked at"));
  EXPECT_THAT(runtime_.volumes(), SizeIs(1));
}

TEST_F(GarbageTest, AnImageThatANewerOneReplacedGoes) {
  runtime_.AddOldImage({.id = std::string(64, 'a'), .bytes = 1 << 30});
  EXPECT_EQ(OnlyDecision(true).kind, GarbageDecision::Kind::kImage);
  EXPECT_TRUE(OnlyDecision(false).remove);
  EXPECT_THAT(Wait(manager().CollectGarbage(false))->decisions, IsEmpty());
}

TEST_F(GarbageTest, OneThatIsUsedBetweenTheLookAndTheRemovalIsKept) {
  UseAndLeave();
  clock_.Advance(limits_.volume_ttl);
  // The look at its files begins with this call.
  runtime_.Hold(EngineCall::kOpenVolume);
  const int opened = runtime_.calls(EngineCall::kOpenVolume);
  auto collecting = Begin(manager().CollectGarbage(false));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kOpenVolume, opened + 1));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
  runtime_.Release(EngineCall::kOpenVolume);
  const auto garbage = Wait(std::move(collecting));
  ASSERT_TRUE(garbage.ok()) << garbage.status();
  EXPECT_FALSE(garbage->decisions.at(0).remove);
  EXPECT_EQ(garbage->decisions.at(0).reason, "not removed: it is used again");
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

TEST_F(GarbageTest, AFileThatComesWhileItsContainerGoesKeepsTheSandbox) {
  if (!HasFiles()) GTEST_SKIP() << "it takes root to map ids";
  Die();
  limits_.keep = absl::InfiniteDuration();
  limits_.life_interval = absl::Milliseconds(2);
  Boot();
  Use();
  const SandboxRef otter = RefOf(alice_, "otter");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(otter, SandboxState::kFrozen));
  clock_.Advance(limits_.stop_after);
  ASSERT_TRUE(Becomes(otter, SandboxState::kStopped));
  clock_.Advance(limits_.volume_ttl);

  runtime_.Hold(EngineCall::kRemove);
  const int removals = runtime_.calls(EngineCall::kRemove);
  auto collecting = Begin(manager().CollectGarbage(false));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kRemove, removals + 1));
  auto coming = Wait(manager().CreateFile(otter, *RelPath::Parse("new"), {}));
  ASSERT_TRUE(coming.ok()) << coming.status();
  ASSERT_EQ(::write(coming->file->file().get(), "came", 4), 4);
  runtime_.Release(EngineCall::kRemove);

  const auto garbage = Wait(std::move(collecting));
  ASSERT_TRUE(garbage.ok()) << garbage.status();
  EXPECT_EQ(garbage->decisions.at(0).reason, "not removed: it is used again");
  EXPECT_TRUE(Wait(manager().CommitFile(*std::move(coming), {})).ok());
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file new"), "kept\ncame");
}

TEST_F(GarbageTest, AClockThatIsSetForwardMakesNothingOld) {
  UseAndLeave();
  clock_.SetWallClock(clock_.Now() + 10 * limits_.volume_ttl);
  EXPECT_FALSE(OnlyDecision(false).remove);
  clock_.SetWallClock(clock_.Now() - 20 * limits_.volume_ttl);
  EXPECT_FALSE(OnlyDecision(false).remove);
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

TEST_F(GarbageTest, OneThatTheEngineDoesNotRemoveIsTriedAgain) {
  UseAndLeave();
  clock_.Advance(limits_.volume_ttl);
  runtime_.Fail(EngineCall::kRemoveVolume, absl::UnavailableError("busy"));
  const GarbageDecision failed = OnlyDecision(false);
  EXPECT_FALSE(failed.remove);
  EXPECT_THAT(failed.reason, HasSubstr("not removed: busy"));
  EXPECT_TRUE(OnlyDecision(false).remove);
  EXPECT_THAT(runtime_.volumes(), IsEmpty());
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
