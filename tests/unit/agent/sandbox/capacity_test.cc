// SANDBOX_MAX: making room must never end somebody's command.

#include <gmock/gmock.h>

#include <future>
#include <limits>
#include <thread>

#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class CapacityTest : public AgentTest {
 protected:
  CapacityTest() { limits_.max_running = 2; }

  SandboxState StateOf(const std::string& label) {
    const auto snapshot = manager().Get(RefOf(alice_, label));
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->state : SandboxState::kBroken;
  }
};

TEST_F(CapacityTest, TheLeastRecentlyUsedIsFrozenToMakeRoom) {
  for (const char* label : {"one", "two", "one"}) {
    OutputOf(alice_, label, StrCat("echo ", std::string(label), " > file"));
    clock_.Advance(absl::Minutes(1));
  }

  OutputOf(alice_, "three", "true");

  EXPECT_EQ(StateOf("one"), SandboxState::kRunning);
  EXPECT_EQ(StateOf("two"), SandboxState::kFrozen);
  EXPECT_EQ(StateOf("three"), SandboxState::kRunning);
  EXPECT_THAT(runtime_.running(), SizeIs(2));
  clock_.Advance(absl::Minutes(1));
  const auto again = Run(alice_, "two", "cat file");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->output, "two\n");
  EXPECT_EQ(again->started.arrival, Arrival::kWoken);
}

TEST_F(CapacityTest, ARunningCommandKeepsItsPlace) {
  auto busy = Start(alice_, "busy", "echo up; sleep 1000");
  ASSERT_TRUE(busy.ok());
  ReadUntil(*busy->watcher, "up");
  clock_.Advance(absl::Minutes(1));
  OutputOf(alice_, "idle", "true");

  OutputOf(alice_, "new", "true");

  EXPECT_EQ(StateOf("busy"), SandboxState::kRunning);
  EXPECT_EQ(StateOf("idle"), SandboxState::kFrozen);
}

TEST_F(CapacityTest, ProcessesLeftBehindAreFrozenToMakeRoomAndNotEnded) {
  auto server = Start(alice_, "server", "sleep 1000 >/dev/null 2>&1 & echo $! >pid");
  ASSERT_TRUE(server.ok());
  Outcome outcome;
  ReadToEnd(*server->watcher, &outcome);
  // Its sandbox has heard of it too.
  ASSERT_TRUE(Wait(manager().ListJobs(RefOf(alice_, "server"), 1)).ok());
  clock_.Advance(absl::Minutes(1));
  OutputOf(alice_, "idle", "true");

  OutputOf(alice_, "new", "true");

  EXPECT_EQ(StateOf("server"), SandboxState::kFrozen);
  EXPECT_EQ(StateOf("idle"), SandboxState::kRunning);
  auto again = Start(alice_, "server", "kill -0 $(cat pid) && echo alive");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->arrival, Arrival::kWoken);
  EXPECT_EQ(ReadToEnd(*again->watcher, &outcome), "alive\n");
}

TEST_F(CapacityTest, WhenAllAreBusyTheAnswerSaysHowManyAndWhenAndTheNextOneWorks) {
  std::vector<StartedJob> busy;
  for (const char* label : {"one", "two"}) {
    auto started = Start(alice_, label, "echo up; sleep 1000");
    ASSERT_TRUE(started.ok());
    ReadUntil(*started->watcher, "up");
    busy.push_back(*std::move(started));
  }

  const auto asked = std::chrono::steady_clock::now();
  const absl::Status refused = Start(bob_, "three", "true").status();
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::milliseconds(100));

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const std::string message(ToStd(refused.message()));
  EXPECT_THAT(message, HasSubstr("all 2 sandboxes"));
  EXPECT_THAT(message, HasSubstr("0 of them yours"));
  EXPECT_THAT(message, HasSubstr("try again in a minute"));
  EXPECT_THAT(runtime_.volumes(), SizeIs(2));
  EXPECT_THAT(std::string(ToStd(Start(alice_, "three", "true").status().message())),
              HasSubstr("(2 of them yours: one for 0 s, two for 0 s)"));

  // Those that run take commands on.
  Outcome outcome;
  auto more = Start(alice_, "one", "echo yes");
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(ReadToEnd(*more->watcher, &outcome), "yes\n");
  const auto ended =
      Wait(manager().SignalJob(RefOf(alice_, "two"), busy[1].job.id, 15, absl::Milliseconds(150)));
  ASSERT_TRUE(ended.ok()) << ended.status();
  ReadToEnd(*busy[1].watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kCancelled);
  EXPECT_EQ(OutputOf(bob_, "three", "echo in"), "in\n");
}

TEST_F(CapacityTest, OneThatCannotBeFrozenIsStopped) {
  OutputOf(alice_, "one", "true");
  clock_.Advance(absl::Minutes(1));
  OutputOf(alice_, "two", "true");
  runtime_.Fail(EngineCall::kFreeze, absl::DeadlineExceededError("doesn't freeze"));

  OutputOf(alice_, "three", "true");

  EXPECT_EQ(StateOf("one"), SandboxState::kStopped);
  EXPECT_EQ(StateOf("two"), SandboxState::kRunning);
  EXPECT_EQ(Wait(manager().Info())->running, 2);
  EXPECT_EQ(Run(alice_, "one", "true")->started.arrival, Arrival::kRestarted);
}

TEST_F(CapacityTest, ARemovalThatFailsKeepsThePlaceUntilItSucceeds) {
  limits_.recycle_removes = true;
  limits_.life_interval = absl::Milliseconds(2);
  Die();
  Boot();
  OutputOf(alice_, "one", "true");
  clock_.Advance(absl::Minutes(1));
  OutputOf(alice_, "two", "true");
  runtime_.Fail(EngineCall::kRemove, absl::UnavailableError("engine hangs"));

  // The one that can't be removed may run on; the other makes room.
  OutputOf(alice_, "three", "true");

  EXPECT_EQ(StateOf("one"), SandboxState::kBroken);
  EXPECT_EQ(StateOf("two"), SandboxState::kAbsent);
  EXPECT_EQ(Wait(manager().Info())->running, 2);
  // No call needs to come for it: the engine is asked again by and by.
  const int removals = runtime_.calls(EngineCall::kRemove);
  runtime_.Fail(EngineCall::kRemove, absl::UnavailableError("engine hangs"));
  clock_.Advance(absl::FromChrono(kSettleRetry));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kRemove, removals + 1));
  EXPECT_EQ(Wait(manager().Info())->running, 2);
  EXPECT_TRUE(BecomesInTime(RefOf(alice_, "one"), SandboxState::kAbsent));
  EXPECT_EQ(Wait(manager().Info())->running, 1);
  EXPECT_EQ(runtime_.calls(EngineCall::kRemove), removals + 2);
  EXPECT_EQ(OutputOf(alice_, "one", "echo back"), "back\n");
}

TEST_F(CapacityTest, WhoComesWhileTheEndOfAPlacesHolderIsLookedIntoGetsThatPlace) {
  limits_.recycle_removes = true;
  limits_.life_interval = absl::Milliseconds(2);
  Die();
  Boot();
  auto busy = Start(alice_, "busy", "echo up; sleep 1000");
  ASSERT_TRUE(busy.ok());
  ReadUntil(*busy->watcher, "up");
  OutputOf(alice_, "idle", "true");
  runtime_.Fail(EngineCall::kRemove, absl::UnavailableError("engine hangs"));

  auto call = Begin(manager().StartJob(bob_, "new", Command("echo in")));
  ASSERT_TRUE(BecomesInTime(RefOf(alice_, "idle"), SandboxState::kBroken));
  // Longer than who finds all others busy is kept waiting: nothing tells that it is being waited.
  std::this_thread::sleep_for(3 * kRoomPatience);
  clock_.Advance(absl::FromChrono(kSettleRetry));

  auto started = Wait(std::move(call));
  ASSERT_TRUE(started.ok()) << started.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*started->watcher, &outcome), "in\n");
}

TEST_F(CapacityTest, ASandboxThatStartsIsBusyAndKeepsNobodyWaiting) {
  auto busy = Start(alice_, "busy", "echo up; sleep 1000");
  ASSERT_TRUE(busy.ok());
  ReadUntil(*busy->watcher, "up");
  runtime_.Hold(EngineCall::kStart);
  const int starts = runtime_.calls(EngineCall::kStart);
  auto starting = Begin(manager().StartJob(alice_, "starting", Command("true")));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kStart, starts + 1));

  const auto asked = std::chrono::steady_clock::now();
  const absl::Status refused = Start(bob_, "new", "true").status();

  EXPECT_LT(std::chrono::steady_clock::now() - asked, kUnsettledPatience / 2);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  runtime_.Release(EngineCall::kStart);
  EXPECT_TRUE(Wait(std::move(starting)).ok());
}

TEST_F(CapacityTest, ManyNewSandboxesAtOnceNeverExceedTheLimit) {
  std::vector<std::future<absl::StatusOr<StartedJob>>> calls;
  for (int i = 0; i < 12; ++i) {
    calls.push_back(Begin(manager().StartJob(alice_, StrCat("s", i), Command("true"))));
  }
  int started = 0;
  for (auto& call : calls) {
    const auto answer = Wait(std::move(call));
    if (answer.ok()) {
      ++started;
    } else {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted) << answer.status();
    }
    EXPECT_LE(runtime_.running().size(), 2u);
  }
  EXPECT_GE(started, 2);
}

class DiskFloorTest : public AgentTest {
 protected:
  DiskFloorTest() { limits_.min_free_bytes = 0; }
};

TEST_F(DiskFloorTest, NoNewSandboxIsMadeBelowTheFloorButThoseThatExistWork) {
  OutputOf(alice_, "old", "echo kept > file");
  Die();
  limits_.min_free_bytes = std::numeric_limits<std::int64_t>::max();
  Boot();

  const absl::Status refused = Start(alice_, "new", "true").status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(ToStd(refused.message())), HasSubstr("disk is nearly full"));
  EXPECT_THAT(runtime_.volumes(), SizeIs(1));
  EXPECT_THAT(*Wait(manager().List(alice_)), SizeIs(1));
  EXPECT_EQ(OutputOf(alice_, "old", "cat file"), "kept\n");
}

TEST_F(CapacityTest, CallsThatWaitForAPlaceAreNotCountedAsHavingOne) {
  std::vector<StartedJob> busy;
  for (const char* label : {"one", "two"}) {
    auto started = Start(alice_, label, "echo up; sleep 1000");
    ASSERT_TRUE(started.ok());
    ReadUntil(*started->watcher, "up");
    busy.push_back(*std::move(started));
  }

  std::vector<std::future<absl::Status>> waiting;
  for (const char* label : {"three", "four", "five"}) {
    auto start = [this, label] { return Start(alice_, label, "true").status(); };
    waiting.push_back(std::async(std::launch::async, std::move(start)));
  }

  for (auto& refused : waiting) {
    EXPECT_THAT(std::string(ToStd(refused.get().message())), HasSubstr("(2 of them yours: "));
  }
}

}  // namespace
}  // namespace sandkeep
