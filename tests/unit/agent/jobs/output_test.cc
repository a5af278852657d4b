// Every byte at its offset, however it was printed and however it is read.

#include <sys/resource.h>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

class SmallSpoolTest : public JobsTest {
 protected:
  SmallSpoolTest() { limits_.spool_bytes = 8 << 20; }
};

// The n-th line of `seq 100000000000000 …`: sixteen bytes, so that an offset names its line.
std::string Line(std::int64_t n) { return std::to_string(100'000'000'000'000 + n) + "\n"; }

void ExpectLines(std::string_view bytes, std::int64_t offset) {
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 16) {
    ASSERT_EQ(bytes.substr(at, 16), Line((offset + static_cast<std::int64_t>(at)) / 16))
        << "at " << offset + static_cast<std::int64_t>(at);
  }
}

std::int64_t PeakKb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(JobsTest, AOneByteWriterLosesNothingAndCostsLittle) {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto begun = std::chrono::steady_clock::now();
  const Seen seen = Run("dd if=/dev/zero bs=1 count=1000000 2>/dev/null | tr '\\0' x");
  const Seen slow = Run("for i in {1..20000}; do printf x; done");
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
  ::getrusage(RUSAGE_SELF, &after);

  EXPECT_TRUE(seen.out == std::string(1'000'000, 'x'));
  EXPECT_TRUE(slow.out == std::string(20'000, 'x'));
  const double cpu = static_cast<double>(after.ru_utime.tv_sec - before.ru_utime.tv_sec +
                                         after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                     1e-6 * static_cast<double>(after.ru_utime.tv_usec - before.ru_utime.tv_usec +
                                                after.ru_stime.tv_usec - before.ru_stime.tv_usec);
  // It was all of a CPU when every write woke the I/O thread.
  EXPECT_LT(cpu, 0.2 * wall.count());
}

TEST_F(JobsTest, AGigabyteKeepsHeadAndTailExactlyAndTheAgentFlat) {
  const std::int64_t peak = PeakKb();
  const std::int64_t total = 1LL << 30;
  const JobId id = Start(Command("seq 100000000000000 100000067108863"));
  RunUntil([&]() { return table_->Find(id)->state == JobState::kEnded; });
  EXPECT_LT(PeakKb() - peak, 16 << 10);

  std::int64_t offset = 0;
  Seen seen;
  const auto watcher = table_->Watch(id, 0, true).value();
  while (!seen.outcome) {
    const JobEvent event = Await(watcher->Next()).value();
    JobsTest::Note(event, seen);
    if (event.kind == JobEvent::Kind::kOutput) {
      ASSERT_EQ(event.output.offset, offset);
      ExpectLines(event.output.data, offset);
      offset += static_cast<std::int64_t>(event.output.data.size());
    } else if (event.kind == JobEvent::Kind::kGap) {
      ASSERT_EQ(event.gap.from, offset);
      offset = event.gap.to;
    }
  }
  EXPECT_EQ(offset, total);
  ASSERT_EQ(seen.gaps.size(), 1u);
  EXPECT_EQ(seen.gaps[0].from, 16 << 20);
  EXPECT_EQ(seen.gaps[0].to, total - (48 << 20));
  EXPECT_EQ(seen.outcome->output_bytes, total);
  EXPECT_EQ(seen.outcome->dropped_bytes, seen.gaps[0].to - seen.gaps[0].from);

  struct stat file{};
  ASSERT_EQ(::stat((SpoolDir() + "/" + id.hex() + ".out").c_str(), &file), 0);
  EXPECT_LE(file.st_blocks * 512, 65LL << 20);
}

TEST_F(SmallSpoolTest, AWatcherOfAFloodSeesBytesOrGapsAndNeverZeros) {
  const JobId id = Start(Command("seq 100000000000000 100000008388607"));
  const auto watcher = table_->Watch(id, 0, true).value();
  std::int64_t offset = 0;
  for (;;) {
    const JobEvent event = Await(watcher->Next()).value();
    if (event.kind == JobEvent::Kind::kOutcome) break;
    if (event.kind == JobEvent::Kind::kGap) {
      ASSERT_EQ(event.gap.from, offset);
      ASSERT_LT(event.gap.from, event.gap.to);
      offset = event.gap.to;
      continue;
    }
    ASSERT_EQ(event.output.offset, offset);
    ExpectLines(event.output.data, offset);
    offset += static_cast<std::int64_t>(event.output.data.size());
  }
  EXPECT_EQ(offset, 8388608LL * 16);
}

TEST_F(SmallSpoolTest, TheGapIsTheSameAfterARestartWithAnotherLimit) {
  const JobId id = Start(Command("seq 100000000000000 100000002097151"));
  Watch(id);  // To its end; it may have seen what was dropped later.
  const Seen before = Watch(id);
  limits_.spool_bytes = 64 << 20;
  RestartAgent();
  const Seen after = Watch(id);
  EXPECT_TRUE(after.out == before.out);
  ASSERT_EQ(after.gaps.size(), 1u);
  EXPECT_EQ(after.gaps[0].to, before.gaps.at(0).to);
}

TEST_F(JobsTest, AWatcherThatNeverReadsHoldsNobodyUp) {
  const JobId id = Start(Command("seq 100000000000000 100000000655359"));
  const auto idle = table_->Watch(id, 0, true).value();
  RunUntil([&]() { return table_->Find(id)->state == JobState::kEnded; });
  const Seen late = Await(Follow(*idle));
  EXPECT_EQ(late.out.size(), 10u << 20);
  ExpectLines(late.out, 0);
}

TEST_F(JobsTest, TwoWatchersSeeTheSame) {
  const JobId id = Start(Command("for i in {1..50}; do echo $i; sleep 0.002; done"));
  const auto one = table_->Watch(id, 0, true).value();
  const auto two = table_->Watch(id, 0, true).value();
  std::optional<Seen> first, second;
  boost::asio::co_spawn(strand_, Follow(*one),
                        [&](std::exception_ptr, Seen seen) { first = std::move(seen); });
  boost::asio::co_spawn(strand_, Follow(*two),
                        [&](std::exception_ptr, Seen seen) { second = std::move(seen); });
  RunUntil([&]() { return first && second; });
  EXPECT_EQ(first->out, second->out);
  EXPECT_EQ(first->outcome->output_bytes, static_cast<std::int64_t>(first->out.size()));
}

TEST_F(JobsTest, ReadsFromAnyOffsetBeforeAndAfterTheEnd) {
  const JobId id = Start(Command("mkfifo go; printf 0123456789; read x < go"));
  AwaitOutput(id, 10);
  EXPECT_EQ(Watch(id, 4, false).out, "456789");
  EXPECT_EQ(Watch(id, 10, false).out, "");
  EXPECT_FALSE(Watch(id, 10, false).outcome);
  EXPECT_TRUE(absl::IsOutOfRange(Watch(id, 11, false).failure));
  EXPECT_TRUE(absl::IsInvalidArgument(Watch(id, -1, false).failure));
  Run("echo > go");
  EXPECT_EQ(Watch(id, 7).out, "789");
  EXPECT_TRUE(Watch(id, 10).outcome);
  EXPECT_TRUE(absl::IsOutOfRange(Watch(id, 11).failure));
}

TEST_F(JobsTest, ACancelledWatcherLeavesNothingBehind) {
  const JobId id = Start(Command("mkfifo go; echo on; read x < go; echo done"));
  AwaitOutput(id, 3);
  auto watcher = table_->Watch(id, 3, true).value();
  boost::asio::cancellation_signal cancel;
  std::optional<absl::Status> status;
  auto done = [&](std::exception_ptr error, const absl::StatusOr<JobEvent>& event) {
    status = error ? absl::CancelledError("thrown") : event.status();
  };
  boost::asio::co_spawn(strand_, watcher->Next(),
                        boost::asio::bind_cancellation_slot(cancel.slot(), done));
  io_.poll();
  EXPECT_FALSE(status);
  cancel.emit(boost::asio::cancellation_type::terminal);
  RunUntil([&]() { return status.has_value(); });
  EXPECT_TRUE(absl::IsCancelled(*status));
  watcher.reset();
  Run("echo > go");
  EXPECT_EQ(Watch(id).out, "on\ndone\n");
}

TEST_F(JobsTest, AWatcherOutlivesItsTable) {
  const JobId id = Start(Command("echo on; sleep 1000"));
  AwaitOutput(id, 3);
  const auto watcher = table_->Watch(id, 0, true).value();
  std::optional<Seen> seen;
  boost::asio::co_spawn(strand_, Follow(*watcher),
                        [&](std::exception_ptr, Seen all) { seen = std::move(all); });
  io_.poll();
  table_.reset();
  RunUntil([&]() { return seen.has_value(); });
  EXPECT_EQ(seen->out, "on\n");
  EXPECT_TRUE(absl::IsUnavailable(seen->failure)) << seen->failure;
}

TEST_F(JobsTest, ASpoolThatIsGoneIsAGap) {
  const JobId id = Start(Command("echo lost"));
  Watch(id);
  std::filesystem::remove(SpoolDir() + "/" + id.hex() + ".out");
  // The table still knows the size.
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "");
  EXPECT_TRUE(seen.outcome);
}

}  // namespace
}  // namespace sandkeep
