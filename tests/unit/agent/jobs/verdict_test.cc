// Why a command ended, as far as the kernel's counters tell.

#include "agent/jobs/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <string_view>
#include <utility>

namespace sandkeep {
namespace {

using testing::HasSubstr;

constexpr int kKilled = SIGKILL;  // As waitpid says it.
constexpr int ExitedWith(int code) { return code << 8; }
constexpr KernelCounts kBefore{.oom_kills = 3, .failed_forks = 5, .memory_max = 1 << 30};

KernelCounts After(std::uint64_t kills, std::uint64_t forks) {
  return {.oom_kills = 3 + kills, .failed_forks = 5 + forks, .memory_max = 1 << 30};
}

Outcome Judge(int wait_status, const std::optional<KernelCounts>& after) {
  return WithKernelCause(OutcomeOfWaitStatus(wait_status, false), kBefore, after, /*alone=*/true);
}

Outcome JudgeBesideOthers(int wait_status, const KernelCounts& after) {
  return WithKernelCause(OutcomeOfWaitStatus(wait_status, false), kBefore, after, /*alone=*/false);
}

TEST(VerdictTest, KilledForMemoryNamesTheLimit) {
  const Outcome outcome = Judge(kKilled, After(1, 0));
  EXPECT_EQ(outcome.ending, Ending::kOutOfMemory);
  EXPECT_EQ(ShellExitCode(outcome), 137);
  EXPECT_THAT(outcome.remedy, HasSubstr("at 1 GiB"));
}

TEST(VerdictTest, AShellThatWasSparedReportsItsChildsDeath) {
  EXPECT_EQ(Judge(ExitedWith(137), After(1, 0)).ending, Ending::kOutOfMemory);
}

TEST(VerdictTest, ACommandThatGotOverADeadChildIsToldOnly) {
  const Outcome outcome = Judge(ExitedWith(0), After(1, 0));
  EXPECT_EQ(outcome.ending, Ending::kExited);
  EXPECT_THAT(outcome.remedy, HasSubstr("one of its processes was killed for memory"));
}

TEST(VerdictTest, FailedForksAreTheCauseOfAFailureOnly) {
  EXPECT_EQ(Judge(ExitedWith(254), After(0, 7)).ending, Ending::kPidLimit);
  EXPECT_EQ(Judge(ExitedWith(254), After(0, 7)).code, 254);
  EXPECT_EQ(Judge(ExitedWith(0), After(0, 7)).ending, Ending::kExited);
}

TEST(VerdictTest, WhatInitRefusedIsTheCallersTheLimitsOrOurFault) {
  const Outcome folder = OutcomeOfRefusal(absl::InvalidArgumentError("cwd: no such folder"));
  EXPECT_EQ(folder.ending, Ending::kExited);
  EXPECT_EQ(ShellExitCode(folder), 126);
  EXPECT_EQ(folder.remedy, "cwd: no such folder");
  const Outcome full = OutcomeOfRefusal(absl::ResourceExhaustedError("no more processes"));
  EXPECT_EQ(full.ending, Ending::kPidLimit);
  EXPECT_EQ(ShellExitCode(full), 126);
  const Outcome ours = OutcomeOfRefusal(absl::InternalError("a fault of ours"));
  EXPECT_EQ(ours.ending, Ending::kAgentFault);
  EXPECT_NE(ShellExitCode(ours), 0);
  EXPECT_EQ(ours.remedy, "a fault of ours");
}

TEST(VerdictTest, AKillThatTheKernelDidNotCountIsSomebodys) {
  const Outcome outcome = Judge(kKilled, After(0, 0));
  EXPECT_EQ(outcome.ending, Ending::kSignalled);
  EXPECT_THAT(outcome.remedy, HasSubstr("something that runs in this sandbox"));
}

TEST(VerdictTest, EverySignalThatNobodyAskedForNamesItsRemedy) {
  const std::pair<int, std::string_view> kCases[] = {{SIGSEGV, "run it under a debugger"},
                                                     {SIGABRT, "its last lines say why"},
                                                     {SIGSYS, "a 64-bit build"},
                                                     {SIGPIPE, "let the reader take all"},
                                                     {SIGXFSZ, "raise that"},
                                                     {SIGTERM, "a caller, or something"}};
  for (const auto& [signal, remedy] : kCases) {
    EXPECT_THAT(OutcomeOfWaitStatus(signal, false).remedy, HasSubstr(std::string(remedy)))
        << signal;
    EXPECT_EQ(OutcomeOfWaitStatus(signal, true).remedy, "") << signal;
  }
}

TEST(VerdictTest, WhatMayHaveBeenAnothersIsAHintAndNoCause) {
  const Outcome killed = JudgeBesideOthers(kKilled, After(1, 0));
  EXPECT_EQ(killed.ending, Ending::kSignalled);
  EXPECT_THAT(killed.remedy, HasSubstr("of this command or of another"));
  const Outcome failed = JudgeBesideOthers(ExitedWith(1), After(0, 7));
  EXPECT_EQ(failed.ending, Ending::kExited);
  EXPECT_THAT(failed.remedy, HasSubstr("by this command or by another"));
  EXPECT_EQ(JudgeBesideOthers(ExitedWith(0), After(0, 7)).remedy, "");
}

TEST(VerdictTest, WhatEndedWhileNobodyLookedIsNotGuessed) {
  const Outcome killed = WithKernelCause(OutcomeOfWaitStatus(kKilled, false), std::nullopt,
                                         After(1, 0), /*alone=*/true);
  EXPECT_EQ(killed.ending, Ending::kSignalled);
  EXPECT_THAT(killed.remedy, HasSubstr("while the agent was away"));
}

TEST(VerdictTest, WithoutCountersItSaysThatItCanNotTell) {
  const Outcome outcome = Judge(kKilled, std::nullopt);
  EXPECT_EQ(outcome.ending, Ending::kSignalled);
  EXPECT_THAT(outcome.remedy, HasSubstr("no cgroup v2"));
  EXPECT_EQ(Judge(ExitedWith(1), std::nullopt).remedy, "");
}

}  // namespace
}  // namespace sandkeep
