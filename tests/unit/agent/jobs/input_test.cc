// A command's input arrives whole, and a command that doesn't read holds nobody up.

#include <signal.h>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

TEST_F(JobsTest, WithoutInputACommandReadsNothing) { EXPECT_EQ(Run("cat; echo end").out, "end\n"); }

TEST_F(JobsTest, TenMebibytesOfInputArriveWhole) {
  JobSpec spec = Command("sha256sum");
  for (int i = 0; spec.stdin_text.size() < 10_MiB; ++i) StrAppend(&spec.stdin_text, i, "\n");
  JobSpec reference =
      Command("i=0; seq 0 2000000 | head -c " + StrCat(spec.stdin_text.size()) + " | sha256sum");
  EXPECT_EQ(Run(std::move(spec)).out, Run(std::move(reference)).out);
}

TEST_F(JobsTest, ACommandThatDoesNotReadItsInputEndsAsUsual) {
  JobSpec spec = Command("exit 4");
  spec.stdin_text = std::string(1_MiB, 'x');
  EXPECT_EQ(Run(std::move(spec)).outcome->code, 4);
}

TEST_F(JobsTest, AllOfTheInputIsThereThoughTheAgentDied) {
  JobSpec spec = Command("mkfifo go; echo on; read -r a <go; wc -c");
  spec.stdin_text = std::string(3_MiB, 'x');
  const JobId id = Start(std::move(spec));
  AwaitOutput(id, 3);
  RestartAgent();
  std::ofstream(init_->workspace() / "go") << "\n";
  EXPECT_EQ(Watch(id).out, StrCat("on\n", 3_MiB, "\n"));
}

TEST_F(JobsTest, WhatASandboxHasNotReadYetIsBounded) {
  std::vector<JobId> jobs;
  absl::Status refused;
  for (int i = 0; i < 8 && refused.ok(); ++i) {
    JobSpec spec = Command("sleep 1000");
    spec.stdin_text = std::string(kMaxStdinBytes, 'x');
    jobs.push_back(spec.id);
    refused = Await(table_->Start(std::move(spec))).status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(jobs.size(), 5u);
  EXPECT_EQ(Run("echo works").out, "works\n");
  jobs.pop_back();
  for (const JobId& id : jobs) {
    ASSERT_TRUE(Await(table_->Signal(id, SIGKILL, absl::ZeroDuration(), false)).ok());
    Watch(id);
  }
  JobSpec spec = Command("wc -c");
  spec.stdin_text = std::string(kMaxStdinBytes, 'x');
  // An outcome comes before init has said that nothing is left.
  RunUntil([&]() { return Await(table_->Start(spec)).ok(); });
  EXPECT_EQ(Watch(spec.id).out, StrCat(kMaxStdinBytes, "\n"));
}

TEST_F(JobsTest, TalksToACommandThatKeepsItsInput) {
  JobSpec spec = Command("read a; echo got $a; read b; echo got $b; cat; echo end");
  spec.stdin_text = "first\n";
  spec.keep_stdin = true;
  const JobId id = Start(std::move(spec));
  AwaitOutput(id, 10);
  EXPECT_TRUE(table_->Find(id)->stdin_open);
  EXPECT_EQ(Await(table_->SendInput(id, "second\n", false)).value(), 7);
  AwaitOutput(id, 21);
  EXPECT_EQ(Await(table_->SendInput(id, "rest\n", true)).value(), 5);

  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "got first\ngot second\nrest\nend\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(Await(table_->SendInput(id, "x", false)).status()));
}

TEST_F(JobsTest, InputThatNobodyReadsIsBounded) {
  JobSpec spec = Command("sleep 1000");
  spec.keep_stdin = true;
  const JobId id = Start(std::move(spec));
  absl::Status status;
  for (int i = 0; i < 40 && status.ok(); ++i) {
    status = Await(table_->SendInput(id, std::string(kMaxInputBytes, 'x'), false)).status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST_F(JobsTest, InputGoesOnAfterARestartOfTheAgent) {
  JobSpec spec = Command("read a; echo got $a; cat");
  spec.keep_stdin = true;
  const JobId id = Start(std::move(spec));
  RestartAgent();
  ASSERT_TRUE(Await(table_->SendInput(id, "late\nend", true)).ok());
  EXPECT_EQ(Watch(id).out, "got late\nend");
}

TEST_F(JobsTest, ATimeoutOfACommandThatWaitedForInputSaysSo) {
  JobSpec spec = Command("echo on; read a");
  spec.keep_stdin = true;
  spec.timeout = absl::Seconds(2);
  const Seen seen = Run(std::move(spec));
  EXPECT_EQ(seen.outcome->ending, Ending::kTimedOut);
  EXPECT_TRUE(seen.outcome->waiting_for_input);
  EXPECT_NE(seen.outcome->remedy.find("waited for input"), std::string::npos);
}

TEST_F(JobsTest, SaysThatACommandWaitsForInputAndAgainWhenItDoesAgain) {
  JobSpec spec = Command("read -r a; echo got $a; sleep 0.2; read -r b; echo and $b");
  spec.keep_stdin = true;
  const JobId id = Start(spec);
  RunUntil([&]() { return table_->Find(id)->waiting_for_input; });
  ASSERT_TRUE(Await(table_->SendInput(id, "one\n", false)).ok());
  EXPECT_FALSE(table_->Find(id)->waiting_for_input);
  AwaitOutput(id, 8);
  RunUntil([&]() { return table_->Find(id)->waiting_for_input; });
  ASSERT_TRUE(Await(table_->SendInput(id, "two\n", true)).ok());
  EXPECT_EQ(Watch(id).out, "got one\nand two\n");
}

TEST_F(JobsTest, ACommandThatSleepsOrReadsSomethingElseDoesNotWaitForInput) {
  JobSpec spec = Command("mkfifo go; echo on; read -r a <go; echo off");
  spec.keep_stdin = true;
  const JobId id = Start(spec);
  AwaitOutput(id, 3);
  const auto until = std::chrono::steady_clock::now() + 3 * kInputLookInterval;
  RunUntil([&]() { return std::chrono::steady_clock::now() > until; });
  EXPECT_FALSE(table_->Find(id)->waiting_for_input);
  Run("echo >go");
  EXPECT_EQ(Watch(id).outcome->code, 0);
}

// Init must not say that a job waits before it has said that it started: that would be a lie.
TEST_F(JobsTest, ACommandThatWaitsFromItsFirstMomentDoesNotBreakTheSandbox) {
  for (int i = 0; i < 8; ++i) {
    JobSpec spec = Command("read -r a; exit 3");
    spec.keep_stdin = true;
    const JobId id = Start(spec);
    RunUntil([&]() { return table_->Find(id)->waiting_for_input || !broken_.empty(); });
    ASSERT_TRUE(broken_.empty()) << broken_.front();
    ASSERT_TRUE(Await(table_->SendInput(id, "go\n", true)).ok());
    EXPECT_EQ(Watch(id).outcome->code, 3);
  }
}

// Each look would tell of all of them, and so many frames are an init that is no longer ours.
TEST_F(JobsTest, AnyNumberOfCommandsMayWaitForInput) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 140; ++i) {
    JobSpec spec = Command("read -r a");
    spec.keep_stdin = true;
    jobs.push_back(Start(std::move(spec)));
  }
  RunUntil([&]() {
    return !broken_.empty() || std::all_of(jobs.begin(), jobs.end(), [this](const JobId& id) {
      return table_->Find(id)->waiting_for_input;
    });
  });
  const auto until = std::chrono::steady_clock::now() + 4 * kInputLookInterval;
  RunUntil([&]() { return std::chrono::steady_clock::now() > until; });
  EXPECT_TRUE(broken_.empty()) << broken_.front();
}

}  // namespace
}  // namespace sandkeep
