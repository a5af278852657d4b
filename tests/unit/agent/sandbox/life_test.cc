// A sandbox that nobody uses waits instead of dying: what was left in it goes on, what was
// installed stays, and nothing that goes on is ever interrupted.

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <optional>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Both ways of freezing: the kernel's, and init's where there is none.
class LifeTest : public AgentTest, public testing::WithParamInterface<bool> {
 protected:
  LifeTest() {
    limits_.life_interval = absl::Milliseconds(2);
    limits_.host_interval = absl::Milliseconds(2);
    limits_.mem_reserve_bytes = 0;
    if (!GetParam()) return;
    constexpr int kAlways = 1 << 30;
    const absl::Status no = absl::UnimplementedError("no cgroup v2");
    runtime_.Fail(EngineCall::kFreeze, no, kAlways);
    runtime_.Fail(EngineCall::kThaw, no, kAlways);
  }

  SandboxRef Otter() { return RefOf(alice_, "otter"); }
  // A process that counts into a file as long as it isn't stopped.
  void LeaveCounter() {
    OutputBusy("(while :; do echo x >>/proc/self/cwd/beats; sleep 0.005; done) >/dev/null 2>&1 &");
    // The only one yet; later ones may stand before it.
    ASSERT_THAT(runtime_.volumes(), SizeIs(1));
    counted_ = runtime_.volumes().front();
  }
  void OutputBusy(const std::string& command) {
    auto started = Start(alice_, "otter", command);
    ASSERT_TRUE(started.ok()) << started.status();
    Outcome outcome;
    ReadToEnd(*started->watcher, &outcome);
    // Its sandbox has heard of it too.
    ASSERT_TRUE(Wait(manager().ListJobs(Otter(), 1)).ok());
  }
  // A command that is up and was handed back long ago waits, so that another sandbox can run.
  void LetMakeRoom(StartedJob job) {
    ReadUntil(*job.watcher, "up");
    job.watcher.reset();
    clock_.Advance(absl::FromChrono(kHandedBackHold));
    OutputOf(alice_, "other", "true");
  }
  // What waits for a file `go`, in whichever sandbox.
  void LetAllGo() {
    for (const EngineName& volume : runtime_.volumes()) {
      const std::ofstream go(runtime_.data(volume) / "go");
    }
  }
  std::size_t Beats() {
    std::ifstream file(runtime_.data(*counted_) / "beats");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return text.size();
  }
  bool Beat() {
    const std::size_t before = Beats();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      if (Beats() > before) return true;
    }
    return false;
  }
  std::optional<EngineName> counted_;  // The volume of the sandbox that counts.

  // So many rounds of the reaper's that it has seen everything there is.
  void LetLookAround() {
    const int calls = runtime_.calls(EngineCall::kFreeze);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    EXPECT_EQ(runtime_.calls(EngineCall::kFreeze), calls);
  }
};

INSTANTIATE_TEST_SUITE_P(Kernel, LifeTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Init, LifeTest, testing::Values(true));

TEST_P(LifeTest, AnIdleSandboxIsFrozenAndTheNextCallWakesItAndSaysSo) {
  OutputOf(alice_, "otter", "echo kept >file");
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);

  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  EXPECT_EQ(Wait(manager().Info())->running, 0);
  EXPECT_EQ(Wait(manager().Info())->frozen, 1);

  const auto woken = Run(alice_, "otter", "cat file");
  ASSERT_TRUE(woken.ok()) << woken.status();
  EXPECT_EQ(woken->started.arrival, Arrival::kWoken);
  EXPECT_EQ(woken->output, "kept\n");
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kRunning);
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
}

TEST_P(LifeTest, AFrozenSandboxesProcessesWaitAndGoOn) {
  LeaveCounter();
  ASSERT_TRUE(Beat());
  const auto frozen = Wait(manager().Freeze(Otter()));
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_EQ(frozen->state, SandboxState::kFrozen);
  const std::size_t before = Beats();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(Beats(), before + 2);

  const auto thawed = Wait(manager().Thaw(Otter()));
  ASSERT_TRUE(thawed.ok()) << thawed.status();
  EXPECT_EQ(thawed->state, SandboxState::kRunning);
  EXPECT_TRUE(Beat());
}

TEST_P(LifeTest, ProcessesLeftBehindAreActivityUntilTheirTimeIsOver) {
  LeaveCounter();
  clock_.Advance(limits_.background - absl::Seconds(1));
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);

  clock_.Advance(absl::Seconds(1));
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning) << "idle from now on";
  clock_.Advance(limits_.idle);
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
}

TEST_P(LifeTest, ARunningCommandIsNeverFrozenByTheClock) {
  auto started = Start(alice_, "otter", "echo up; sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  clock_.Advance(absl::Hours(11));
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);
  EXPECT_EQ(Wait(manager().Freeze(Otter())).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(LifeTest, LookingIsNoActivity) {
  OutputOf(alice_, "otter", "true");
  clock_.Advance(limits_.idle - absl::Seconds(1));
  EXPECT_TRUE(Wait(manager().List(alice_)).ok());
  EXPECT_TRUE(Wait(manager().ListJobs(Otter(), 10)).ok());
  EXPECT_TRUE(Wait(manager().WatchJob(Otter(), std::nullopt, 0, true)).ok());
  LetLookAround();
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
}

TEST_P(LifeTest, AStoppedOneWhoseContainerSomebodyRemovedSaysThatItIsRebuilt) {
  OutputOf(alice_, "otter", "echo kept >file");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  clock_.Advance(limits_.stop_after);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  runtime_.RemoveBehind(runtime_.containers().front());

  const auto rebuilt = Run(alice_, "otter", "cat file");
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
  EXPECT_EQ(rebuilt->started.arrival, Arrival::kRebuilt);
  EXPECT_EQ(rebuilt->output, "kept\n");
}

TEST_P(LifeTest, AFrozenOneIsStoppedThenItsContainerRemovedAndTheFilesStay) {
  OutputOf(alice_, "otter", "echo kept >file");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  clock_.Advance(limits_.stop_after);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  EXPECT_THAT(runtime_.running(), IsEmpty());
  EXPECT_THAT(runtime_.containers(), SizeIs(1)) << "the writable layer is kept";

  const auto restarted = Run(alice_, "otter", "cat file");
  ASSERT_TRUE(restarted.ok()) << restarted.status();
  EXPECT_EQ(restarted->started.arrival, Arrival::kRestarted);
  EXPECT_EQ(restarted->output, "kept\n");

  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  clock_.Advance(limits_.stop_after);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  clock_.Advance(limits_.keep);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kAbsent));
  EXPECT_THAT(runtime_.containers(), IsEmpty());
  const auto rebuilt = Run(alice_, "otter", "cat file");
  EXPECT_EQ(rebuilt->started.arrival, Arrival::kRebuilt);
  EXPECT_EQ(rebuilt->output, "kept\n");
}

TEST_P(LifeTest, WithoutMemoryTheLongestFrozenIsStoppedFirstAndNothingOfAnybodysEnds) {
  limits_.mem_reserve_bytes = std::numeric_limits<std::int64_t>::max();
  Die();
  Boot();
  LeaveCounter();
  ASSERT_TRUE(Wait(manager().Freeze(Otter())).ok());
  OutputOf(alice_, "idle", "true");
  ASSERT_TRUE(Wait(manager().Freeze(RefOf(alice_, "idle"))).ok());
  EXPECT_TRUE(Becomes(RefOf(alice_, "idle"), SandboxState::kStopped));
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
}

TEST_P(LifeTest, RecyclingRemovesTheContainerAtOnceAndKeepsTheFiles) {
  limits_.recycle_removes = true;
  Die();
  Boot();
  OutputOf(alice_, "otter", "echo kept >file");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kAbsent));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
}

TEST_P(LifeTest, OneFrozenToMakeRoomGoesOnByItselfWhenAPlaceIsFree) {
  limits_.max_running = 1;
  Die();
  Boot();
  LeaveCounter();
  ASSERT_TRUE(Beat());
  clock_.Advance(absl::Minutes(1));

  auto other = Start(alice_, "other", "echo up; sleep 1000");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
  ReadUntil(*other->watcher, "up");
  EXPECT_EQ(Wait(manager().Info())->running, 1);

  const auto ended =
      Wait(manager().SignalJob(RefOf(alice_, "other"), other->job.id, 15, absl::Milliseconds(150)));
  ASSERT_TRUE(ended.ok());
  other->watcher.reset();
  ASSERT_TRUE(BecomesIdle(RefOf(alice_, "other")));
  clock_.Advance(limits_.idle);
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kRunning));
  EXPECT_TRUE(Beat());
}

TEST_P(LifeTest, ACommandHandedBackLongAgoMakesRoomByWaitingAndIsNotLost) {
  limits_.max_running = 1;
  Die();
  Boot();
  auto job = Start(alice_, "otter", "echo up; until [ -e go ]; do sleep 0.01; done; echo through");
  ASSERT_TRUE(job.ok());
  ReadUntil(*job->watcher, "up");
  job->watcher.reset();
  EXPECT_TRUE(absl::IsResourceExhausted(Start(alice_, "other", "true").status()));
  clock_.Advance(absl::FromChrono(kHandedBackHold));

  OutputOf(alice_, "other", "true");
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
  EXPECT_EQ(manager().Get(Otter())->running_jobs, 1);
  LetAllGo();
  // Who waits for it has it go on; the other is idle and makes room.
  auto watched = Wait(manager().WatchJob(Otter(), job->job.id, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "up\nthrough\n");
  EXPECT_EQ(outcome.ending, Ending::kExited);
}

TEST_P(LifeTest, OneThatIsThawedIsNotFrozenAgainAtOnce) {
  OutputOf(alice_, "otter", "true");
  ASSERT_TRUE(Wait(manager().Freeze(Otter())).ok());
  clock_.Advance(2 * limits_.idle);
  ASSERT_TRUE(Wait(manager().Thaw(Otter())).ok());
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);
}

TEST_P(LifeTest, ACommandThatIsSignalledKeepsThePlaceItWasGiven) {
  limits_.max_running = 1;
  Die();
  Boot();
  auto job = Start(alice_, "otter", "echo up; exec sleep 1000");
  ASSERT_TRUE(job.ok());
  const JobId id = job->job.id;
  LetMakeRoom(*std::move(job));
  ASSERT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);

  constexpr int kContinue = 18;
  const auto told = Wait(manager().SignalJob(Otter(), id, kContinue, absl::ZeroDuration()));
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);
  EXPECT_TRUE(absl::IsResourceExhausted(Start(alice_, "other", "true").status()));
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);
}

TEST_P(LifeTest, ARetryOfACommandThatWasFrozenToMakeRoomHasItGoOn) {
  limits_.max_running = 1;
  Die();
  Boot();
  const JobSpec spec = Command("echo up; until [ -e go ]; do sleep 0.01; done; echo through");
  auto job = Wait(manager().StartJob(alice_, "otter", spec));
  ASSERT_TRUE(job.ok());
  LetMakeRoom(*std::move(job));
  ASSERT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);

  auto again = Wait(manager().StartJob(alice_, "otter", spec));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);
  LetAllGo();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*again->watcher, &outcome), "up\nthrough\n");
}

TEST_P(LifeTest, AnAgentThatDiesLeavesAFrozenSandboxFrozen) {
  LeaveCounter();
  ASSERT_TRUE(Wait(manager().Freeze(Otter())).ok());
  Die();
  limits_.max_running = 1;
  Boot();
  // It takes no place, and had been frozen with something going on: so it goes on now.
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kRunning));
  EXPECT_TRUE(Beat());
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
}

TEST_P(LifeTest, AnIdleFrozenSandboxStaysSoThroughTheAgentsDeathAndIsStoppedInTime) {
  OutputOf(alice_, "otter", "echo kept >file");
  AwaitRecords();
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  clock_.Advance(limits_.stop_after - absl::Seconds(1));
  Die();
  Boot();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
  EXPECT_EQ(Wait(manager().Info())->running, 0);
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  EXPECT_EQ(Run(alice_, "otter", "cat file")->output, "kept\n");
}

TEST_P(LifeTest, AFreezeThatFailsLeavesItRunning) {
  if (GetParam()) GTEST_SKIP() << "init's way doesn't fail so";
  OutputOf(alice_, "otter", "true");
  runtime_.Fail(EngineCall::kFreeze, absl::DeadlineExceededError("doesn't freeze"));
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen)) << "the next try works";
  EXPECT_EQ(runtime_.calls(EngineCall::kFreeze), 2);
  EXPECT_EQ(Run(alice_, "otter", "true")->started.arrival, Arrival::kWoken);
}

TEST_P(LifeTest, OneThatCouldNotGoOnStillWaitsForAPlace) {
  limits_.max_running = 1;
  Die();
  Boot();
  LeaveCounter();
  clock_.Advance(absl::Minutes(1));
  OutputOf(alice_, "other", "true");
  ASSERT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
  if (!GetParam()) runtime_.Fail(EngineCall::kThaw, absl::UnavailableError("engine hangs"), 3);
  ASSERT_TRUE(Wait(manager().Freeze(RefOf(alice_, "other"))).ok());
  EXPECT_TRUE(Becomes(Otter(), SandboxState::kRunning));
}

TEST_P(LifeTest, AFrozenContainerThatDiesIsRestartedWithWhatWasInstalled) {
  OutputOf(alice_, "otter", "echo kept >file");
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kFrozen));
  runtime_.Kill(runtime_.containers().at(0));
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kStopped));
  const auto next = Run(alice_, "otter", "cat file");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->started.arrival, Arrival::kRestarted);
}

TEST_P(LifeTest, ACallThatComesWhileItIsBeingFrozenWakesIt) {
  if (GetParam()) GTEST_SKIP() << "init's way has no such moment";
  OutputOf(alice_, "otter", "true");
  runtime_.Hold(EngineCall::kFreeze);
  clock_.Advance(limits_.idle);
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kFreeze, 1));
  auto call = Begin(manager().StartJob(alice_, "otter", Command("echo in")));
  runtime_.Release(EngineCall::kFreeze);
  auto started = Wait(std::move(call));
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_EQ(started->arrival, Arrival::kWoken);
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*started->watcher, &outcome), "in\n");
}

TEST_P(LifeTest, AWallClockThatJumpsFreezesAndStopsNothing) {
  OutputOf(alice_, "otter", "true");
  clock_.SetWallClock(clock_.Now() + absl::Hours(24 * 365));
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kRunning);
  ASSERT_TRUE(Wait(manager().Freeze(Otter())).ok());
  clock_.SetWallClock(clock_.Now() + absl::Hours(24 * 365));
  LetLookAround();
  EXPECT_EQ(manager().Get(Otter())->state, SandboxState::kFrozen);
}

// The machine goes down, or the agent for good.
TEST_P(LifeTest, WhenAllIsStoppedWhatWasPrintedAndInstalledStays) {
  Die();
  limits_.warm = 1;
  Boot();
  auto started = Start(alice_, "otter", "echo said; echo tool >/proc/self/cwd/tool; sleep 1000");
  ASSERT_TRUE(started.ok()) << started.status();
  ReadUntil(*started->watcher, "said");
  OutputOf(alice_, "frozen", "true");
  ASSERT_TRUE(Wait(manager().Freeze(RefOf(alice_, "frozen"))).ok());
  started->watcher.reset();

  ASSERT_TRUE(Wait(manager().StopAll()).ok());

  EXPECT_THAT(runtime_.running(), IsEmpty());
  EXPECT_EQ(Start(alice_, "otter", "true").status().code(), absl::StatusCode::kUnavailable);
  Die();
  Boot();
  auto watched = Wait(manager().WatchJob(Otter(), std::nullopt, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "said\n");
  EXPECT_EQ(outcome.ending, Ending::kHostRestarted);
  watched->watcher.reset();
  const auto after = Run(alice_, "otter", "cat /proc/self/cwd/tool");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->output, "tool\n");
  EXPECT_EQ(after->started.arrival, Arrival::kRestarted);
}

}  // namespace
}  // namespace sandkeep
