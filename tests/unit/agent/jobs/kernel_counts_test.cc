// The kernel's counters through a whole command: looked at when it begins and when it ends, and
// believed only as far as they go.

#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::Not;

class KernelCountsTest : public JobsTest {
 protected:
  void SetUp() override {
    JobsTest::SetUp();
    if (!IsSkipped()) StartAgentThatCounts();
  }

  void StartAgentThatCounts() {
    table_.reset();
    io_.poll();
    MakeTable();
    RunningContainer container = Container();
    container.counts = [this]() { return std::optional<KernelCounts>(counts_); };
    ASSERT_TRUE(Await(table_->Attach(std::move(container), lost_)).ok());
  }

  // Prints, waits for `Release`, and ends with `code`.
  JobId StartWaiting(int code) {
    const JobId id = Start(Command(StrCat("mkfifo go; echo on; read x <go; exit ", code)));
    AwaitOutput(id, 3);
    return id;
  }
  void Release() { std::ofstream(init_->workspace() / "go") << "\n"; }

  KernelCounts counts_{.oom_kills = 3, .failed_forks = 5, .memory_max = 1 << 30};
};

TEST_F(KernelCountsTest, ADeathThatIsCountedMeanwhileIsOfMemory) {
  const JobId id = StartWaiting(137);
  ++counts_.oom_kills;
  Release();
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kOutOfMemory);
  EXPECT_EQ(ShellExitCode(*seen.outcome), 137);
  EXPECT_THAT(seen.outcome->remedy, HasSubstr("at 1 GiB"));
}

TEST_F(KernelCountsTest, WhatWasCountedBeforeIsNoCauseOfWhatCameLater) {
  counts_.oom_kills += 7;
  counts_.failed_forks += 7;
  EXPECT_EQ(Run("exit 137").outcome->ending, Ending::kExited);
  EXPECT_EQ(Run("exit 254").outcome->remedy, "");
}

TEST_F(KernelCountsTest, ForksThatFailMeanwhileAreTheCauseOfAFailure) {
  const JobId id = StartWaiting(254);
  counts_.failed_forks += 40;
  Release();
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kPidLimit);
  EXPECT_EQ(ShellExitCode(*seen.outcome), 254);
}

TEST_F(KernelCountsTest, BesideAnotherCommandItIsAHintAndNoCause) {
  const JobId other = Start(Command("sleep 1000"));
  const JobId id = StartWaiting(137);
  ++counts_.oom_kills;
  Release();
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kExited);
  EXPECT_THAT(seen.outcome->remedy, HasSubstr("of this command or of another"));
  ASSERT_TRUE(Await(table_->Signal(other, SIGKILL, absl::ZeroDuration(), false)).ok());
}

// Nobody counted before: what the kernel counted may be of any time.
TEST_F(KernelCountsTest, OneKilledWhileThereWasNoAgentIsNotBlamedOnTheSandbox) {
  const JobId id =
      Start(Command("mkfifo go; (while kill -0 $$ 2>/dev/null; do sleep 0.01; done; touch over) & "
                    "echo on; read x <go; kill -KILL $$"));
  AwaitOutput(id, 3);
  table_.reset();
  io_.poll();
  ++counts_.oom_kills;
  Release();
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (!std::filesystem::exists(init_->workspace() / "over")) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  StartAgentThatCounts();
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kSignalled);
  EXPECT_THAT(seen.outcome->remedy, HasSubstr("while the agent was away"));
  EXPECT_THAT(seen.outcome->remedy, Not(HasSubstr("no cgroup v2")));
}

}  // namespace
}  // namespace sandkeep
