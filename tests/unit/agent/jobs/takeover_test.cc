// An agent that dies takes nothing with it: the next one finds the jobs, their bytes and their
// ends.

#include <signal.h>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

class TakeoverTest : public JobsTest {
 protected:
  void KillAgent() {
    table_.reset();
    io_.poll();
  }
  void NextAgent() {
    MakeTable();
    ASSERT_TRUE(Attach().ok());
  }
  // By the store, as the next agent reads it.
  bool NothingIsLeftBehindByTheRow() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      const auto rows = Await(store_->LoadJobs());
      const bool has_outcome = rows.ok() && !rows->empty() && rows->back().outcome;
      if (has_outcome && rows->back().outcome->left_behind == 0) return true;
    }
    return false;
  }
};

TEST_F(TakeoverTest, EveryByteOfAFloodThroughTwentyDeathsOfTheAgent) {
  const JobId id = Start(Command("seq 1 3000000; exit 6"));
  for (int i = 1; i <= 20; ++i) {
    AwaitOutput(id, i * 700'000);
    RestartAgent();
  }
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->code, 6);
  std::string expected;
  for (int i = 1; i <= 3'000'000; ++i) expected += std::to_string(i) += '\n';
  EXPECT_TRUE(seen.out == expected);
  EXPECT_TRUE(SpoolText(id) == expected);
}

TEST_F(TakeoverTest, ACommandThatEndedWithoutAnAgentKeepsItsOutcomeAndItsLastWords) {
  const JobId id = Start(Command("mkfifo go; echo on; read x < go; echo last words; exit 11"));
  AwaitOutput(id, 3);
  KillAgent();
  std::ofstream(init_->workspace() / "go") << "\n";
  NextAgent();
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "on\nlast words\n");
  EXPECT_EQ(seen.outcome->code, 11);
}

TEST_F(TakeoverTest, TheDeadlineGoesOn) {
  JobSpec spec = Command("sleep 1000");
  spec.timeout = absl::Milliseconds(500);
  spec.grace = absl::Milliseconds(100);
  const JobId id = Start(spec);
  KillAgent();
  NextAgent();
  EXPECT_EQ(Watch(id).outcome->ending, Ending::kTimedOut);
}

TEST_F(TakeoverTest, ARowThatInitNeverHeardOfEndsAsLost) {
  const JobRow row{.id = JobId::Random(SystemRandom()),
                   .sandbox = sandbox_,
                   .state = JobState::kStarting,
                   .command_head = "true",
                   .started = absl::Now(),
                   .ended = {},
                   .spool_bytes = 64 << 20,
                   .outcome = std::nullopt};
  KillAgent();
  ASSERT_TRUE(Await(store_->PutJob(row)).ok());
  NextAgent();
  EXPECT_EQ(Watch(row.id).outcome->ending, Ending::kSandboxGone);
}

TEST_F(TakeoverTest, AnEndThatWasRecordedStaysAsItWas) {
  const JobId id = Start(Command("echo x; exit 8"));
  Watch(id);
  KillAgent();
  NextAgent();
  EXPECT_EQ(Watch(id).outcome->code, 8);
  EXPECT_EQ(table_->running(), 0);
}

TEST_F(TakeoverTest, AProcessLeftBehindPrintsOnThroughTheNextAgent) {
  const JobId id = Start(Command("mkfifo go; (read x < go; echo later) & echo now"));
  EXPECT_EQ(Watch(id).out, "now\n");
  KillAgent();
  NextAgent();
  RunUntil([&]() { return table_->left_behind() == 1; });
  Run("echo > go");
  AwaitOutput(id, 10);
  EXPECT_EQ(Watch(id).out, "now\nlater\n");
  RunUntil([&]() { return table_->left_behind() == 0; });
}

TEST_F(TakeoverTest, AProcessLeftBehindThatIsGoneIsNoneForTheNextAgent) {
  const JobId id = Start(Command("sleep 1000 & echo now"));
  EXPECT_EQ(Watch(id).outcome->left_behind, 1);
  EXPECT_FALSE(Await(store_->LoadJobs())->empty());
  ASSERT_TRUE(Await(table_->Signal(id, SIGKILL, absl::ZeroDuration(), false)).ok());
  EXPECT_TRUE(NothingIsLeftBehindByTheRow());
  KillAgent();
  MakeTable();
  EXPECT_EQ(table_->left_behind(), 0);
}

TEST_F(TakeoverTest, AProcessLeftBehindThatWentWithItsContainerIsNoneForTheNextAgent) {
  const JobId id = Start(Command("sleep 1000 & echo now"));
  EXPECT_EQ(Watch(id).outcome->left_behind, 1);
  ASSERT_TRUE(Await(table_->Detach(lost_)).ok());
  EXPECT_TRUE(NothingIsLeftBehindByTheRow());
  KillAgent();
  MakeTable();
  EXPECT_EQ(table_->left_behind(), 0);
}

TEST_F(TakeoverTest, ASignalThatComesBeforeItIsTakenOverIsNotLost) {
  const JobId id = Start(Command("echo on; exec sleep 1000"));
  AwaitOutput(id, 3);
  KillAgent();
  MakeTable();
  ASSERT_TRUE(Await(table_->Signal(id, SIGTERM, absl::Seconds(2), true)).ok());
  ASSERT_TRUE(Attach().ok());
  EXPECT_EQ(Watch(id).outcome->ending, Ending::kCancelled);
}

TEST_F(TakeoverTest, InitForgetsWhatIsRecorded) {
  for (int i = 0; i < 600; ++i) ASSERT_EQ(Run("true").outcome->code, 0) << i;
}

TEST_F(TakeoverTest, DetachWithoutEverHavingBeenAttachedEndsWhatRan) {
  const JobId id = Start(Command("echo on; sleep 1000"));
  AwaitOutput(id, 3);
  KillAgent();
  MakeTable();
  ASSERT_TRUE(Await(table_->Detach(lost_)).ok());
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "on\n");
  EXPECT_EQ(seen.outcome->ending, Ending::kSandboxGone);
}

}  // namespace
}  // namespace sandkeep
