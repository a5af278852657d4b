// A command's end is a result, told once, whatever the command did and whoever asks again.

#include <signal.h>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

TEST_F(JobsTest, TellsWhatACommandPrintedAndHowItEnded) {
  const Seen seen = Run("echo one; echo two >&2; exit 42");

  EXPECT_EQ(seen.out, "one\ntwo\n");
  ASSERT_TRUE(seen.outcome);
  EXPECT_EQ(seen.outcome->ending, Ending::kExited);
  EXPECT_EQ(seen.outcome->code, 42);
  EXPECT_EQ(seen.outcome->output_bytes, 8);
  EXPECT_EQ(seen.outcome->left_behind, 0);
}

TEST_F(JobsTest, ASignalThatACallerSentIsBlamedOnNobodyElse) {
  const JobId id = Start(Command("echo on; exec sleep 1000"));
  AwaitOutput(id, 3);
  ASSERT_TRUE(Await(table_->Signal(id, SIGUSR1, absl::ZeroDuration(), false)).ok());
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kSignalled);
  EXPECT_EQ(seen.outcome->code, SIGUSR1);
  EXPECT_EQ(seen.outcome->remedy, "");
}

TEST_F(JobsTest, AnUnknownCommandIs127) {
  EXPECT_EQ(ShellExitCode(*Run("no-such-program").outcome), 127);
}

TEST_F(JobsTest, ASilentCommandLeavesNoFile) {
  const JobId id = Start(Command("true"));
  EXPECT_EQ(Watch(id).outcome->code, 0);
  EXPECT_FALSE(std::filesystem::exists(SpoolDir() + "/" + id.hex() + ".out"));
}

TEST_F(JobsTest, ACommandOf200kBRuns) {
  const Seen seen = Run("true '" + std::string(200'000, 'x') + "'; echo whole");
  EXPECT_EQ(seen.out, "whole\n");
}

TEST_F(JobsTest, ACommandOverTheLimitIsRefusedAndLeavesNothing) {
  const absl::StatusOr<JobSnapshot> started =
      Await(table_->Start(Command(std::string(kMaxCommandBytes + 1, ' '))));
  EXPECT_TRUE(absl::IsInvalidArgument(started.status())) << started.status();
  EXPECT_TRUE(table_->List(10).empty());
  EXPECT_TRUE(Await(store_->LoadJobs())->empty());
  EXPECT_EQ(Run("echo next").out, "next\n");
}

TEST_F(JobsTest, TheSameIdNeverRunsTwice) {
  const JobSpec spec = Command("echo once >> ran; cat ran");
  Start(spec);
  Start(spec);
  EXPECT_EQ(Watch(spec.id).out, "once\n");
  Start(spec);
  EXPECT_EQ(Watch(spec.id).out, "once\n");
}

TEST_F(JobsTest, KeepsStreamsApartWhenAsked) {
  JobSpec spec = Command("echo out; echo err >&2");
  spec.merge_streams = false;
  const Seen seen = Run(spec);
  EXPECT_EQ(seen.out, "out\n");
  EXPECT_EQ(seen.err, "err\n");
  EXPECT_EQ(seen.outcome->output_bytes, 8);
}

TEST_F(JobsTest, ScriptsThatOpenTheirOwnStderrByNameCanPrint) {
  const Seen seen = Run("echo named > /dev/stderr && echo other > /dev/stdout");
  EXPECT_EQ(seen.out, "named\nother\n");
}

TEST_F(JobsTest, ACommandThatClosesItsOutputStillEndsWithItsCode) {
  const Seen seen = Run("echo before; exec >&- 2>&-; exit 3");
  EXPECT_EQ(seen.out, "before\n");
  EXPECT_EQ(seen.outcome->code, 3);
}

TEST_F(JobsTest, DyingOfASignalIsNoError) {
  const Seen seen = Run("kill -SEGV $$");
  EXPECT_EQ(seen.outcome->ending, Ending::kSignalled);
  EXPECT_EQ(ShellExitCode(*seen.outcome), 139);
}

TEST_F(JobsTest, ABackgroundProcessDoesNotHoldUpTheOutcome) {
  const auto begun = std::chrono::steady_clock::now();
  const JobId id = Start(Command("echo started; sleep 1000 & exit 5"));
  const Seen seen = Watch(id);

  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_EQ(seen.out, "started\n");
  EXPECT_EQ(seen.outcome->code, 5);
  EXPECT_EQ(seen.outcome->left_behind, 1);
  EXPECT_EQ(table_->left_behind(), 1);
  EXPECT_EQ(table_->running(), 0);

  ASSERT_TRUE(Await(table_->Signal(id, SIGKILL, absl::ZeroDuration(), false)).ok());
  RunUntil([&]() { return table_->left_behind() == 0; });
  EXPECT_EQ(table_->Find(id)->outcome->code, 5);
}

TEST_F(JobsTest, AProcessLeftBehindGoesOnPrintingIntoTheSameJob) {
  const JobId id = Start(Command("mkfifo go; (read x < go; echo later) & echo now"));
  EXPECT_EQ(Watch(id).out, "now\n");
  EXPECT_EQ(Run("echo > go").outcome->code, 0);
  AwaitOutput(id, 10);
  EXPECT_EQ(Watch(id).out, "now\nlater\n");
}

TEST_F(JobsTest, AFlooderLeftBehindDoesNotHoldUpTheOutcome) {
  const JobId id = Start(Command("yes & echo mine"));
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->code, 0);
  EXPECT_NE(seen.out.find("mine\n"), std::string::npos);
  ASSERT_TRUE(Await(table_->Signal(id, SIGKILL, absl::ZeroDuration(), false)).ok());
  RunUntil([&]() { return table_->left_behind() == 0; });
}

TEST_F(JobsTest, ATimeoutEndsTheWholeTreeWith124) {
  JobSpec spec = Command("trap '' TERM; (trap '' TERM; sleep 1000) & echo on; sleep 1000; wait");
  spec.timeout = absl::Milliseconds(200);
  spec.grace = absl::Milliseconds(100);
  const Seen seen = Run(spec);

  EXPECT_EQ(seen.out, "on\n");
  EXPECT_EQ(seen.outcome->ending, Ending::kTimedOut);
  EXPECT_EQ(ShellExitCode(*seen.outcome), 124);
  EXPECT_NE(seen.outcome->remedy, "");
  EXPECT_EQ(seen.outcome->left_behind, 0);
  EXPECT_EQ(table_->left_behind(), 0);
  EXPECT_EQ(Run("pgrep sleep; true").out, "");
}

class BackgroundTest : public JobsTest {
 protected:
  BackgroundTest() { limits_.background = absl::Milliseconds(300); }
};

// SANDBOX_BACKGROUND is the deadline of a command that was started without a timeout.
TEST_F(BackgroundTest, ACommandWithoutATimeoutEndsWithTheTimeThatBackgroundCommandsHave) {
  JobSpec spec = Command("(trap '' TERM; sleep 1000) & echo on; sleep 1000");
  spec.grace = absl::Milliseconds(100);
  const JobId id = Start(std::move(spec));
  const JobSnapshot running = table_->Find(id).value();
  EXPECT_EQ(running.deadline, running.started + limits_.background);
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "on\n");
  EXPECT_EQ(seen.outcome->ending, Ending::kTimedOut);
  EXPECT_EQ(table_->left_behind(), 0);
}

class UnlimitedBackgroundTest : public JobsTest {
 protected:
  UnlimitedBackgroundTest() { limits_.background = absl::ZeroDuration(); }
};

TEST_F(UnlimitedBackgroundTest, NoneAtAllIsNoDeadline) {
  const JobId id = Start(Command("echo on; sleep 1000"));
  EXPECT_EQ(table_->Find(id)->deadline, absl::InfiniteFuture());
  ASSERT_TRUE(Await(table_->Signal(id, SIGKILL, absl::ZeroDuration(), false)).ok());
  EXPECT_EQ(Watch(id).outcome->ending, Ending::kSignalled);
}

TEST_F(JobsTest, ACancelledCommandSaysSo) {
  const JobId id = Start(Command("echo on; sleep 1000"));
  AwaitOutput(id, 3);
  ASSERT_TRUE(Await(table_->Signal(id, SIGTERM, absl::Milliseconds(150), true)).ok());
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kCancelled);
  EXPECT_NE(ShellExitCode(*seen.outcome), 0);
}

TEST_F(JobsTest, ASignalThatTheCommandHandlesIsOnlyASignal) {
  const JobId id = Start(Command("trap 'echo caught; exit 7' USR1; echo on; while :; do :; done"));
  AwaitOutput(id, 3);
  ASSERT_TRUE(Await(table_->Signal(id, SIGUSR1, absl::ZeroDuration(), false)).ok());
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "on\ncaught\n");
  EXPECT_EQ(seen.outcome->ending, Ending::kExited);
  EXPECT_EQ(seen.outcome->code, 7);
}

TEST_F(JobsTest, ACancelWhileTheRowIsBeingWrittenIsNotLost) {
  JobSpec spec = Command("sleep 1000");
  const JobId id = spec.id;
  bool started = false;
  auto done = [&](std::exception_ptr, const absl::StatusOr<JobSnapshot>&) { started = true; };
  boost::asio::co_spawn(strand_, table_->Start(std::move(spec)), done);
  RunUntil([&]() { return table_->Find(id).ok(); });
  EXPECT_FALSE(started);
  ASSERT_TRUE(Await(table_->Signal(id, SIGTERM, absl::Milliseconds(150), true)).ok());
  EXPECT_EQ(Watch(id).outcome->ending, Ending::kCancelled);
}

TEST_F(JobsTest, ABadWorkingDirectoryIsAnOutcomeWithARemedy) {
  JobSpec spec = Command("true");
  spec.cwd = "/no/such/place";
  const Seen seen = Run(spec);
  ASSERT_TRUE(seen.outcome);
  EXPECT_EQ(ShellExitCode(*seen.outcome), 126);
  EXPECT_NE(seen.outcome->remedy, "");
  EXPECT_EQ(Run("echo next").out, "next\n");
}

TEST_F(JobsTest, LosingTheContainerEndsWhatRanWithTheGivenOutcome) {
  const JobId id = Start(Command("echo on; sleep 1000"));
  AwaitOutput(id, 3);
  init_->Kill();
  RunUntil([&]() { return !broken_.empty(); });
  EXPECT_EQ(broken_.size(), 1u);
  ASSERT_TRUE(Await(table_->Detach(lost_)).ok());

  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "on\n");
  EXPECT_EQ(seen.outcome->ending, Ending::kSandboxGone);
  EXPECT_EQ(seen.outcome->remedy, lost_.remedy);
  EXPECT_TRUE(absl::IsFailedPrecondition(Await(table_->Start(Command("true"))).status()));
}

TEST_F(JobsTest, TheOutcomeIsRecorded) {
  const JobId id = Start(Command("echo kept; exit 9"));
  Watch(id);
  std::vector<JobRow> rows;
  RunUntil([&]() {
    rows = Await(store_->LoadJobs()).value();
    return rows.at(0).state == JobState::kEnded;
  });
  EXPECT_EQ(rows[0].id, id);
  EXPECT_EQ(rows[0].outcome->code, 9);
  EXPECT_EQ(rows[0].command_head, "echo kept; exit 9");
}

TEST_F(JobsTest, ForgetsOldJobsButNotWhatStillLivesOrIsRead) {
  const JobId old = Start(Command("echo old"));
  Watch(old);
  const JobId read = Start(Command("echo read"));
  Watch(read);
  const JobId left = Start(Command("echo left; sleep 1000 &"));
  Watch(left);
  const auto reader = table_->Watch(read, 0, true);
  ASSERT_TRUE(reader.ok());

  RunUntil([&]() {
    EXPECT_TRUE(Await(table_->Forget(absl::InfiniteFuture())).ok());
    return !table_->Find(old).ok();
  });
  EXPECT_TRUE(table_->Find(read).ok());
  EXPECT_TRUE(table_->Find(left).ok());
  EXPECT_FALSE(std::filesystem::exists(SpoolDir() + "/" + old.hex() + ".out"));
  EXPECT_EQ(Await(store_->LoadJobs())->size(), 2u);
}

TEST_F(JobsTest, ADayOfShortCommandsDoesNotFillTheMemory) {
  const JobId first = Start(Command("true"));
  Watch(first);
  for (std::size_t i = 0; i < kMaxKnownJobs + kKnownJobsSlack; ++i) Watch(Start(Command("true")));
  RunUntil([&]() { return !table_->Find(first).ok(); });
  EXPECT_LE(table_->List(1 << 20).size(), kMaxKnownJobs + 1);
}

TEST_F(JobsTest, ListsTheNewestFirst) {
  const JobId first = Start(Command("true"));
  const JobId second = Start(Command("true"));
  EXPECT_EQ(table_->List(1).at(0).id, second);
  EXPECT_EQ(table_->List(5).at(1).id, first);
  EXPECT_EQ(table_->Newest()->id, second);
  EXPECT_TRUE(absl::IsNotFound(table_->Find(JobId::Random(SystemRandom())).status()));
}

TEST_F(JobsTest, ThreeHundredCommandsLeaveNoZombieAndNoDescriptor) {
  auto descriptors = []() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Run("true");
  const auto before = descriptors();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(Run("exit 1").outcome->code, 1);
  EXPECT_EQ(Run("ps -eo stat= | grep -c Z").out, "0\n");
  EXPECT_LE(descriptors(), before + 2);
}

// Not a moment after it was started, when init has nobody yet whom it could reach. Not SIGINT: a
// shell that waits for a command of its profile takes that for the command's affair.
TEST_F(JobsTest, ASignalDirectlyBehindTheStartArrives) {
  for (int i = 0; i < 20; ++i) {
    JobSpec spec = Command("exec sleep 1000");
    spec.cwd = "/";  // By a shell of its own.
    const JobId id = spec.id;
    bool started = false;
    auto done = [&started](const std::exception_ptr&, const absl::StatusOr<JobSnapshot>&) {
      started = true;
    };
    boost::asio::co_spawn(strand_, table_->Start(std::move(spec)), std::move(done));
    io_.poll_one();
    RunUntil([&]() { return started; });
    ASSERT_TRUE(Await(table_->Signal(id, SIGTERM, absl::ZeroDuration(), false)).ok());
    const Seen seen = Watch(id);
    ASSERT_TRUE(seen.outcome);
    EXPECT_EQ(seen.outcome->ending, Ending::kSignalled);
    EXPECT_EQ(seen.outcome->code, SIGTERM);
  }
}

// perl-base is on every Debian.
constexpr char kServer[] =
    "exec perl -MIO::Socket::INET -e '"
    "my $s = IO::Socket::INET->new(LocalPort => 8080, Listen => 1) or die; sleep $ARGV[0]' ";

TEST_F(JobsTest, WhoWatchesIsToldOnceOfAPortThatBeginsToListen) {
  const Seen seen = Run(StrCat(kServer, "1"));
  ASSERT_EQ(seen.notes.size(), 1u);
  EXPECT_EQ(seen.notes[0].find("port 8080 listens now"), 0u) << seen.notes[0];
  EXPECT_FALSE(table_->TakeNews().has_value());
}

TEST_F(JobsTest, APortThatNobodyWasToldOfWaitsAndGoesWithItsContainer) {
  Run(StrCat("(", kServer, "60) >/dev/null 2>&1 &"));
  std::optional<std::string> news;
  RunUntil([&]() { return (news = table_->TakeNews()).has_value(); });
  EXPECT_EQ(news->find("port 8080 listens now"), 0u) << *news;
  EXPECT_FALSE(table_->TakeNews().has_value());
}

}  // namespace
}  // namespace sandkeep
