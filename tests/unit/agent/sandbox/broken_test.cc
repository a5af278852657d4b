// An engine that fails half-way: what is installed isn't given up for it, and nothing runs on
// without a place.

#include <gmock/gmock.h>

#include <csignal>

#include "agent/sandbox/sandbox.h"
#include "common/limits.h"
#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const absl::Status kAway = absl::UnavailableError("engine hangs");

class BrokenTest : public AgentTest {
 protected:
  BrokenTest() {
    limits_.life_interval = absl::Milliseconds(2);
    limits_.mem_reserve_bytes = 0;
  }

  SandboxRef Otter() { return RefOf(alice_, "otter"); }
  EngineName OnlyContainer() { return runtime_.containers().at(0); }
  int Running() { return Wait(manager().Info())->running; }
  // While no agent is there.
  template <typename T>
  void Do(boost::asio::awaitable<T> call) {
    boost::asio::io_context io;
    auto done = boost::asio::co_spawn(io, std::move(call), boost::asio::use_future);
    io.run();
    ASSERT_TRUE(done.get().ok());
  }
  void LeaveFrozenToTheNextAgent() {
    OutputOf(alice_, "otter", "true");
    AwaitRecords();
    clock_.Advance(limits_.idle);
    ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
    Die();
    Boot();
  }
  void StopByClock() {
    clock_.Advance(limits_.idle);
    ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
    clock_.Advance(limits_.stop_after);
    ASSERT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  }
};

TEST_F(BrokenTest, AnInitThatDiesWhileTheEngineIsAwayKeepsWhatWasInstalled) {
  OutputOf(alice_, "otter", "true");
  runtime_.Fail(EngineCall::kListOurs, kAway, 2);
  runtime_.Kill(OnlyContainer());
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kBroken));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kListOurs, 2));
  EXPECT_EQ(Start(alice_, "otter", "true").status(), kAway);
  EXPECT_THAT(runtime_.containers(), SizeIs(1));

  EXPECT_TRUE(BecomesInTime(Otter(), SandboxState::kStopped));
  EXPECT_EQ(Running(), 0);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kRestarted);
  EXPECT_EQ(runtime_.calls(EngineCall::kRemove), 0);
}

TEST_F(BrokenTest, AStopThatFailsIsTriedAgainAndKeepsWhatWasInstalled) {
  OutputOf(alice_, "otter", "true");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  runtime_.Fail(EngineCall::kStop, kAway, 2);
  clock_.Advance(limits_.stop_after);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kBroken));
  EXPECT_TRUE(BecomesInTime(Otter(), SandboxState::kStopped));
  EXPECT_EQ(runtime_.calls(EngineCall::kStop), 3);
  EXPECT_EQ(runtime_.calls(EngineCall::kRemove), 0);
}

TEST_F(BrokenTest, OneThatCannotBeStoppedAtAllIsRemovedAfterSomeTries) {
  OutputOf(alice_, "otter", "true");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  runtime_.Fail(EngineCall::kStop, kAway, 1 << 30);
  clock_.Advance(limits_.stop_after);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kBroken));
  EXPECT_TRUE(BecomesInTime(Otter(), SandboxState::kAbsent));
  EXPECT_GE(runtime_.calls(EngineCall::kStop), kSettleTries);
  EXPECT_EQ(Running(), 0);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kRebuilt);
}

TEST_F(BrokenTest, AFrozenOneThatIsThawedButNotTakenOverIsFrozenAgain) {
  LeaveFrozenToTheNextAgent();
  runtime_.Fail(EngineCall::kAttach, kAway);
  EXPECT_EQ(Start(alice_, "otter", "true").status(), kAway);

  EXPECT_THAT(runtime_.running(), IsEmpty());
  EXPECT_EQ(Running(), 0);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kWoken);
}

TEST_F(BrokenTest, OneThatCannotBeFrozenAgainKeepsItsPlaceAndGoesOn) {
  LeaveFrozenToTheNextAgent();
  runtime_.Fail(EngineCall::kAttach, kAway);
  runtime_.Fail(EngineCall::kFreeze, kAway);
  EXPECT_EQ(Start(alice_, "otter", "true").status(), kAway);
  EXPECT_THAT(runtime_.running(), SizeIs(1));
  EXPECT_EQ(Running(), 1);

  EXPECT_TRUE(BecomesInTime(Otter(), SandboxState::kRunning));
  EXPECT_EQ(Running(), 1);
}

TEST_F(BrokenTest, AStoppedOneThatStartsButIsNotTakenOverIsStoppedAgain) {
  OutputOf(alice_, "otter", "true");
  StopByClock();
  runtime_.FailAfterwards(EngineCall::kStart, kAway);
  EXPECT_EQ(Start(alice_, "otter", "true").status(), kAway);

  EXPECT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  EXPECT_THAT(runtime_.running(), IsEmpty());
  EXPECT_EQ(Running(), 0);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kRestarted);
}

TEST_F(BrokenTest, ARestingOneThatRunsAndIsNotTakenOverIsFrozenAgain) {
  OutputOf(alice_, "otter", "true");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  Die();
  Do(runtime_.Thaw(OnlyContainer()));
  runtime_.Fail(EngineCall::kAttach, kAway);
  Boot();

  EXPECT_THAT(runtime_.running(), IsEmpty());
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
  EXPECT_EQ(Running(), 0);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kWoken);
}

TEST_F(BrokenTest, ARunningOneThatIsNotTakenOverKeepsItsPlaceAndItsCommand) {
  auto started = Start(alice_, "otter", "echo up; until [ -e go ]; do sleep 0.01; done");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  const JobId id = started->job.id;
  started->watcher.reset();
  Die();
  runtime_.Fail(EngineCall::kAttach, kAway);
  Boot();
  EXPECT_THAT(runtime_.running(), SizeIs(1));
  EXPECT_EQ(Running(), 1);

  EXPECT_TRUE(BecomesInTime(Otter(), SandboxState::kRunning));
  OutputOf(alice_, "otter", "touch go");
  auto watched = Wait(manager().WatchJob(Otter(), id, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  ReadToEnd(*watched->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kExited);
  EXPECT_EQ(Running(), 1);
}

TEST_F(BrokenTest, WhoEndsACommandBesideAWakingThatFailsWakesItAgain) {
  auto started = Start(alice_, "otter", "echo up; exec sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  const JobId id = started->job.id;
  started->watcher.reset();
  Die();
  limits_.life_interval = absl::Hours(1);  // Nobody looks after it but who calls.
  runtime_.Fail(EngineCall::kAttach, kAway);
  Boot();
  const int attached = runtime_.calls(EngineCall::kAttach);
  runtime_.Hold(EngineCall::kAttach);
  runtime_.Fail(EngineCall::kAttach, kAway);
  auto waking = Begin(manager().Thaw(Otter()));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kAttach, attached + 1));
  auto signalling = Begin(manager().SignalJob(Otter(), id, SIGKILL, absl::Milliseconds(1)));
  auto watching = Begin(manager().WatchJob(Otter(), id, 0, true));
  // Behind them on the sandbox's strand: they have come as far as they can.
  ASSERT_TRUE(Wait(manager().ListJobs(Otter(), 1)).ok());
  runtime_.Release(EngineCall::kAttach);
  EXPECT_EQ(Wait(std::move(waking)).status(), kAway);
  ASSERT_TRUE(Wait(std::move(signalling)).ok());
  auto watched = Wait(std::move(watching));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  ReadToEnd(*watched->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kCancelled);
}

TEST_F(BrokenTest, OneThatShallGoOnButIsPastRepairDoesNotTryForEver) {
  limits_.max_running = 1;
  Die();
  Boot();
  auto left = Start(alice_, "otter", "sleep 1000 >/dev/null 2>&1 &");
  ASSERT_TRUE(left.ok());
  Outcome outcome;
  ReadToEnd(*left->watcher, &outcome);
  left->watcher.reset();
  const EngineName container = OnlyContainer();
  auto other = Start(alice_, "other", "echo up; sleep 1000");
  ASSERT_TRUE(other.ok()) << other.status();
  ReadUntil(*other->watcher, "up");
  other->watcher.reset();
  Die();
  Boot();
  ASSERT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
  runtime_.Kill(container);  // Nobody is told.

  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "other"), true)).ok());
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  EXPECT_EQ(Running(), 0);
}

TEST_F(BrokenTest, AStoppedOneThatNeverStartsAgainIsRebuiltWithItsFiles) {
  OutputOf(alice_, "otter", "echo kept >file");
  StopByClock();
  runtime_.Fail(EngineCall::kStart, kAway, kWakeTries);
  for (int i = 1; i < kWakeTries; ++i) {
    EXPECT_EQ(Start(alice_, "otter", "true").status(), kAway);
  }
  const auto rebuilt = Run(alice_, "otter", "cat file");
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
  EXPECT_EQ(rebuilt->started.arrival, Arrival::kRebuilt);
  EXPECT_EQ(rebuilt->output, "kept\n");
  EXPECT_THAT(runtime_.containers(), SizeIs(1));
  EXPECT_EQ(Running(), 1);
}

TEST_F(BrokenTest, WhereNothingStartsWhatWasInstalledIsKept) {
  OutputOf(alice_, "otter", "true");
  StopByClock();
  const EngineName container = OnlyContainer();
  runtime_.Fail(EngineCall::kStart, kAway, kWakeTries + 3);
  for (int i = 0; i < kWakeTries + 1; ++i) {
    EXPECT_EQ(Start(alice_, "otter", "true").status(), kAway);
    EXPECT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  }
  EXPECT_THAT(runtime_.containers(), ElementsAre(container));
  EXPECT_EQ(Running(), 0);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kRestarted);
}

}  // namespace
}  // namespace sandkeep
