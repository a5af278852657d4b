// Started containers that wait for a first label: nobody ever gets one that was somebody's, and
// none outlives its agent unnoticed.

#include "agent/sandbox/pool.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "agent/sandbox/binding.h"
#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::Not;
using testing::SizeIs;

class PoolTest : public AgentTest {
 protected:
  PoolTest() {
    limits_.warm = 1;
    limits_.mem_reserve_bytes = 0;
  }

  bool Fills() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      if (Wait(manager().Info())->warm == 1) return true;
    }
    return false;
  }
};

TEST_F(PoolTest, ANewLabelTakesTheOneThatWaitsAndAnotherFollows) {
  ASSERT_TRUE(Fills());
  EXPECT_EQ(Wait(manager().Info())->running, 0);
  const EngineName warm = runtime_.volumes().at(0);
  EXPECT_EQ(runtime_.binding(warm), kWarmBinding);
  runtime_.Hold(EngineCall::kStart);  // So it can't have been made for the call.

  const auto first = Run(alice_, "otter", "echo in");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->output, "in\n");
  EXPECT_EQ(first->started.arrival, Arrival::kNew);
  const auto binding = ParseBinding(runtime_.binding(warm));
  ASSERT_TRUE(binding.ok()) << binding.status();
  EXPECT_EQ(binding->label.text(), "otter");

  runtime_.Release(EngineCall::kStart);
  ASSERT_TRUE(Fills());
  EXPECT_THAT(runtime_.containers(), SizeIs(2));
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kRunning);
}

TEST_F(PoolTest, AnotherAgentRemovesWhatWaitsAndKeepsWhatWasTaken) {
  ASSERT_TRUE(Fills());
  OutputOf(alice_, "otter", "echo kept >file");
  ASSERT_TRUE(Fills());
  const auto before = runtime_.volumes();
  Die();
  Boot();
  ASSERT_TRUE(Fills());
  EXPECT_THAT(runtime_.volumes(), SizeIs(2));
  EXPECT_THAT(runtime_.containers(), SizeIs(2));
  EXPECT_THAT(runtime_.volumes(), Not(testing::UnorderedElementsAreArray(before)));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

TEST_F(PoolTest, WithoutItsDatabaseNothingOfThePoolIsTakenForSomebodys) {
  ASSERT_TRUE(Fills());
  OutputOf(alice_, "otter", "echo kept >file");
  ASSERT_TRUE(Fills());
  Die();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(StrCat(state_dir_, "/agent.db", suffix));
  }
  Boot();
  ASSERT_TRUE(Fills());
  EXPECT_THAT(*Wait(manager().List(alice_)), SizeIs(1));
  EXPECT_THAT(runtime_.volumes(), SizeIs(2));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

TEST_F(PoolTest, ADeathBeforeTheBindingIsWrittenIsMadeGood) {
  ASSERT_TRUE(Fills());
  const EngineName warm = runtime_.volumes().at(0);
  runtime_.Hold(EngineCall::kBindVolume);
  auto call = Begin(manager().StartJob(alice_, "otter", Command("true")));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kBindVolume, 1));
  Die();
  Boot();
  const auto binding = ParseBinding(runtime_.binding(warm));
  ASSERT_TRUE(binding.ok()) << binding.status();
  EXPECT_EQ(binding->label.text(), "otter");
  EXPECT_EQ(OutputOf(alice_, "otter", "echo in"), "in\n");
}

TEST_F(PoolTest, OneThatDiedIsGivenToNobody) {
  ASSERT_TRUE(Fills());
  runtime_.Kill(runtime_.containers().at(0));
  EXPECT_EQ(OutputOf(alice_, "otter", "echo in"), "in\n");
  ASSERT_TRUE(Fills());
  EXPECT_THAT(runtime_.containers(), SizeIs(2));
  EXPECT_THAT(runtime_.volumes(), SizeIs(2));
}

TEST_F(PoolTest, OneThatCouldNotBeUsedGoesBack) {
  limits_.max_running = 1;
  Die();
  Boot();
  ASSERT_TRUE(Fills());
  auto busy = Start(alice_, "busy", "echo up; sleep 1000");
  ASSERT_TRUE(busy.ok()) << busy.status();
  ReadUntil(*busy->watcher, "up");
  ASSERT_TRUE(Fills());
  EXPECT_TRUE(absl::IsResourceExhausted(Start(alice_, "other", "true").status()));
  ASSERT_TRUE(Fills());
  // The one that was begun in its place is removed again.
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (runtime_.containers().size() > 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_THAT(runtime_.containers(), SizeIs(2));
}

TEST_F(PoolTest, ACommandThatIsRefusedStartsNothingAndLeavesNothing) {
  ASSERT_TRUE(Fills());
  auto job = Start(alice_, "otter", "echo up; sleep 1000");
  ASSERT_TRUE(job.ok()) << job.status();
  ReadUntil(*job->watcher, "up");
  ASSERT_TRUE(Fills());
  std::vector<WatchedJob> waits;
  for (int i = 1; i < kMaxWaitsEach; ++i) {
    auto wait = Wait(manager().WatchJob(RefOf(alice_, "otter"), job->job.id, 0, true));
    ASSERT_TRUE(wait.ok()) << wait.status();
    waits.push_back(*std::move(wait));
  }

  EXPECT_TRUE(absl::IsResourceExhausted(Start(alice_, "new", "true").status()));
  EXPECT_EQ(Wait(manager().Info())->known, 1);
  // The one that it would have had, and no other beside it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (runtime_.calls(EngineCall::kRemoveVolume) == 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Wait(manager().Info())->warm, 1);
  EXPECT_THAT(runtime_.volumes(), SizeIs(2));
  EXPECT_TRUE(absl::IsResourceExhausted(Start(alice_, "otter", "echo >ran").status()));

  waits.clear();
  auto look = Start(alice_, "otter", "ls");
  ASSERT_TRUE(look.ok()) << look.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*look->watcher, &outcome), "");
}

}  // namespace
}  // namespace sandkeep
