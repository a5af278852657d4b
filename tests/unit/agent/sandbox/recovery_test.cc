// The agent may be killed at any moment. What ran goes on, what was kept is found, nothing is left.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "agent/sandbox/binding.h"
#include "common/strings.h"
#include "tests/fakes/patience.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RecoveryTest : public AgentTest {
 protected:
  void LoseDatabase() {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(StrCat(state_dir_, "/agent.db", suffix));
    }
  }
  SandboxState StateOf(const std::string& label) {
    const auto snapshot = manager().Get(RefOf(alice_, label));
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->state : SandboxState::kBroken;
  }
};

TEST_F(RecoveryTest, ACommandThatRunsOnIsTakenOverWithItsOutputWhole) {
  auto started = Start(alice_, "amber-otter",
                       "for i in $(seq 1 2000); do echo line $i; done; echo half; "
                       "until [ -e go ]; do sleep 0.01; done; seq 1 2000; exit 7");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "half");
  const JobId id = started->job.id;
  started->watcher.reset();

  Die();
  // It prints on while no agent is there.
  std::ofstream(runtime_.data(runtime_.volumes().at(0)) / "go");
  Boot();

  EXPECT_EQ(StateOf("amber-otter"), SandboxState::kRunning);
  auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), id, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  const std::string output = ReadToEnd(*watched->watcher, &outcome);
  std::string want;
  for (int i = 1; i <= 2000; ++i) want += StrCat("line ", i, "\n");
  want += "half\n";
  for (int i = 1; i <= 2000; ++i) want += StrCat(i, "\n");
  EXPECT_EQ(output, want);
  EXPECT_EQ(outcome.ending, Ending::kExited);
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
  EXPECT_EQ(Run(alice_, "amber-otter", "true")->started.arrival, Arrival::kRunning);
}

TEST_F(RecoveryTest, ManyDeathsInARowLoseNothing) {
  auto started =
      Start(alice_, "amber-otter", "for i in $(seq 1 300); do echo $i; sleep 0.002; done");
  ASSERT_TRUE(started.ok());
  const JobId id = started->job.id;
  started->watcher.reset();
  for (int i = 0; i < 5; ++i) {
    Die();
    Boot();
  }
  auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), id, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  std::string want;
  for (int i = 1; i <= 300; ++i) want += StrCat(i, "\n");
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), want);
  EXPECT_EQ(outcome.ending, Ending::kExited);
}

TEST_F(RecoveryTest, ALostDatabaseLosesNoFilesAndNoRunningContainer) {
  auto before = Run(alice_, "amber-otter", "echo kept > file");
  OutputOf(alice_, "lynx", "echo kept too > file");
  ASSERT_TRUE(before.ok());
  before->started.watcher.reset();
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "lynx"), false)).ok());

  Die();
  LoseDatabase();
  Boot();

  const auto after = Run(alice_, "amber-otter", "cat file");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->output, "kept\n");
  EXPECT_EQ(after->started.arrival, Arrival::kRunning);
  EXPECT_EQ(after->started.sandbox.key, before->started.sandbox.key);
  EXPECT_EQ(after->started.sandbox.generation, before->started.sandbox.generation);
  const auto lynx = Run(alice_, "lynx", "cat file");
  EXPECT_EQ(lynx->output, "kept too\n");
  EXPECT_EQ(lynx->started.arrival, Arrival::kRebuilt);
  EXPECT_EQ(manager().Get(RefOf(bob_, "amber-otter")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RecoveryTest, ARebootEndsJobsWithTheReasonAndKeepsPackages) {
  auto started = Start(alice_, "amber-otter", "echo up; sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  const JobId id = started->job.id;
  started->watcher.reset();

  Die();
  runtime_.Reboot();
  Boot();

  EXPECT_EQ(StateOf("amber-otter"), SandboxState::kStopped);
  auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), id, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "up\n");
  EXPECT_EQ(outcome.ending, Ending::kHostRestarted);
  const auto next = Run(alice_, "amber-otter", "true");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->started.arrival, Arrival::kRestarted);
  EXPECT_THAT(next->started.notes, ElementsAre(HasSubstr("sleep 1000")));
}

TEST_F(RecoveryTest, AStoppedContainerThatWontStartIsRebuilt) {
  OutputOf(alice_, "amber-otter", "echo kept > file");
  Die();
  runtime_.Reboot();
  Boot();
  runtime_.Fail(EngineCall::kStart, absl::InternalError("its layer is damaged"));

  const auto next = Run(alice_, "amber-otter", "cat file");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->output, "kept\n");
  EXPECT_EQ(next->started.arrival, Arrival::kRebuilt);
  EXPECT_THAT(runtime_.containers(), SizeIs(1));
}

TEST_F(RecoveryTest, AStoppedContainerIsNotGivenUpBecauseTheEngineIsAway) {
  OutputOf(alice_, "amber-otter", "true");
  Die();
  runtime_.Reboot();
  Boot();
  runtime_.Fail(EngineCall::kStart, absl::UnavailableError("engine hangs"));
  EXPECT_EQ(Start(alice_, "amber-otter", "true").status(), absl::UnavailableError("engine hangs"));

  EXPECT_EQ(Run(alice_, "amber-otter", "true")->started.arrival, Arrival::kRestarted);
  EXPECT_EQ(runtime_.calls(EngineCall::kRemove), 0);
}

TEST_F(RecoveryTest, AFrozenContainerWakesWithItsProcesses) {
  auto started = Start(alice_, "amber-otter", "echo up; until [ -e go ]; do sleep 0.01; done");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  const JobId id = started->job.id;
  started->watcher.reset();
  Die();
  boost::asio::io_context io;
  auto frozen = boost::asio::co_spawn(io, runtime_.Freeze(runtime_.containers().at(0)),
                                      boost::asio::use_future);
  io.run();
  ASSERT_TRUE(frozen.get().ok());
  Boot();
  EXPECT_EQ(StateOf("amber-otter"), SandboxState::kFrozen);

  const auto woken = Run(alice_, "amber-otter", "touch go");

  ASSERT_TRUE(woken.ok()) << woken.status();
  EXPECT_EQ(woken->started.arrival, Arrival::kWoken);
  auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), id, 0, true));
  ASSERT_TRUE(watched.ok());
  Outcome outcome;
  ReadToEnd(*watched->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kExited);
}

TEST_F(RecoveryTest, AContainerThatIsGoneIsRebuiltAndItsJobsAreEnded) {
  auto started = Start(alice_, "amber-otter", "echo kept > file; echo up; sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");
  const JobId id = started->job.id;
  started->watcher.reset();
  Die();
  runtime_.RemoveBehind(runtime_.containers().at(0));
  Boot();

  auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), id, 0, true));
  ASSERT_TRUE(watched.ok());
  Outcome outcome;
  ReadToEnd(*watched->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kHostRestarted);
  const auto next = Run(alice_, "amber-otter", "cat file");
  EXPECT_EQ(next->output, "kept\n");
  EXPECT_EQ(next->started.arrival, Arrival::kRebuilt);
}

TEST_F(RecoveryTest, AVolumeThatIsGoneMakesTheLabelNewWithLinksOfItsOwn) {
  auto before = Run(alice_, "amber-otter", "echo old > file");
  ASSERT_TRUE(before.ok());
  before->started.watcher.reset();
  Die();
  runtime_.RemoveVolumeBehind(runtime_.volumes().at(0));
  Boot();

  const auto after = Run(alice_, "amber-otter", "ls");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->output, "");
  EXPECT_EQ(after->started.arrival, Arrival::kNew);
  EXPECT_NE(after->started.sandbox.generation, before->started.sandbox.generation);
}

TEST_F(RecoveryTest, AVolumeThatIsRemovedUnderARunningAgentCostsTheFilesAndNotTheLabel) {
  auto before = Run(alice_, "amber-otter", "echo old > file");
  ASSERT_TRUE(before.ok());
  before->started.watcher.reset();
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "amber-otter"), false)).ok());
  runtime_.RemoveVolumeBehind(runtime_.volumes().at(0));

  const auto after = Run(alice_, "amber-otter", "ls; echo new > file");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->output, "");
  EXPECT_EQ(after->started.arrival, Arrival::kNew);
  EXPECT_THAT(after->started.notes, ElementsAre(HasSubstr("were removed by hand")));
  EXPECT_EQ(OutputOf(alice_, "amber-otter", "cat file"), "new\n");
}

TEST_F(RecoveryTest, AnAgentKilledInTheFirstStartLeavesNothingThatIsntFoundAgain) {
  runtime_.Hold(EngineCall::kStart);
  auto call = Begin(manager().StartJob(alice_, "amber-otter", Command("true")));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kStart, 1));
  Die();
  runtime_.Release(EngineCall::kStart);
  Boot();

  EXPECT_EQ(StateOf("amber-otter"), SandboxState::kAbsent);
  EXPECT_EQ(Run(alice_, "amber-otter", "true")->started.arrival, Arrival::kNew);
  EXPECT_THAT(runtime_.volumes(), SizeIs(1));
}

TEST_F(RecoveryTest, AFileForOneWhoseFirstStartWasCutShortFindsItsFolder) {
  if (!HasFiles()) GTEST_SKIP() << "it takes root to map ids";
  runtime_.Hold(EngineCall::kStart);
  auto call = Begin(manager().StartJob(alice_, "amber-otter", Command("true")));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kStart, 1));
  Die();
  runtime_.Release(EngineCall::kStart);
  Boot();
  const SandboxRef ref = RefOf(alice_, "amber-otter");
  const absl::Status made = Wait(manager().CreateFile(ref, *RelPath::Parse("file"), {})).status();
  EXPECT_TRUE(made.ok()) << made;
}

TEST_F(RecoveryTest, ContainersOfNobodyAreRemovedAndTheirVolumesKept) {
  OutputOf(alice_, "amber-otter", "true");
  const EngineName volume = runtime_.volumes().at(0);
  Die();
  LoseDatabase();
  runtime_.SetBinding(volume, "");
  Boot();

  EXPECT_THAT(runtime_.containers(), IsEmpty());
  EXPECT_THAT(runtime_.volumes(), ElementsAre(volume));
  EXPECT_THAT(*Wait(manager().List(std::nullopt)), IsEmpty());
  const auto garbage = Wait(manager().CollectGarbage(true));
  ASSERT_TRUE(garbage.ok()) << garbage.status();
  ASSERT_THAT(garbage->decisions, SizeIs(1));
  EXPECT_EQ(garbage->decisions.at(0).name, volume.text());
  EXPECT_FALSE(garbage->decisions.at(0).remove);
}

TEST_F(RecoveryTest, WithoutAnEngineCallsSayWhyUntilItIsThere) {
  OutputOf(alice_, "amber-otter", "echo kept > file");
  Die();
  runtime_.Fail(EngineCall::kListOurs, absl::FailedPreconditionError("podman isn't installed"), 1);
  BootWithoutRecovery();
  EXPECT_EQ(Start(alice_, "amber-otter", "true").status().code(), absl::StatusCode::kUnavailable);

  EXPECT_EQ(Wait(manager().Recover()), absl::FailedPreconditionError("podman isn't installed"));
  EXPECT_EQ(Start(alice_, "amber-otter", "true").status(),
            absl::FailedPreconditionError("podman isn't installed"));
  EXPECT_EQ(Wait(manager().List(alice_)).status().code(), absl::StatusCode::kFailedPrecondition);

  EXPECT_TRUE(Wait(manager().Recover()).ok());
  EXPECT_EQ(OutputOf(alice_, "amber-otter", "cat file"), "kept\n");
}

TEST_F(RecoveryTest, JobsArePastRememberingAfterTheirTime) {
  ASSERT_TRUE(Run(alice_, "amber-otter", "echo old").ok());
  clock_.Advance(absl::Hours(20));
  auto recent = Run(alice_, "amber-otter", "echo recent");
  ASSERT_TRUE(recent.ok());
  recent->started.watcher.reset();
  clock_.Advance(absl::Hours(5));
  Die();
  Boot();

  const auto jobs = Wait(manager().ListJobs(RefOf(alice_, "amber-otter"), 10));
  ASSERT_TRUE(jobs.ok());
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->at(0).id, recent->started.job.id);
  auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), std::nullopt, 0, false));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "recent\n");
}

TEST_F(RecoveryTest, TheSweepForgetsWithoutARestart) {
  Die();
  limits_.sweep_interval = absl::Milliseconds(5);
  Boot();
  ASSERT_TRUE(Run(alice_, "amber-otter", "echo old").ok());
  clock_.Advance(absl::Hours(25));

  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  bool forgotten = false;
  while (!forgotten && std::chrono::steady_clock::now() < deadline) {
    forgotten = Wait(manager().ListJobs(RefOf(alice_, "amber-otter"), 10))->empty();
  }
  EXPECT_TRUE(forgotten);
}

}  // namespace
}  // namespace sandkeep
