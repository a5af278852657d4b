// A job of which nothing can come any more, as any thread sees it: the same as a watcher does.

#include "agent/jobs/settled_jobs.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <random>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

class SettledJobsTest : public JobsTest {
 protected:
  SettledJobsTest() { limits_.spool_bytes = 1 << 20; }

  // Where the file system can't say what is cached, all is left to the strand.
  void SetUp() override {
    JobsTest::SetUp();
    const UniqueFd file(::open(SpoolDir().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    char byte = 'x';
    ASSERT_EQ(::pwrite(file.get(), &byte, 1, 0), 1);
    const iovec into{&byte, 1};
    if (::preadv2(file.get(), &into, 1, 0, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP) {
      GTEST_SKIP() << "the file system of " << SpoolDir() << " knows no RWF_NOWAIT";
    }
  }

  SettledJob Settle(JobSpec spec) {
    const JobId id = Start(std::move(spec));
    RunUntil([&]() { return table_->FindSettled(id).has_value(); });
    return *table_->FindSettled(id);
  }

  // What a watcher tells of one stream, cut to what one answer holds.
  Seen WatchPart(const SettledJob& settled, OutputStream stream, std::int64_t offset,
                 std::int64_t limit) {
    const auto watcher = table_->Watch(settled.job.id, offset, false).value();
    std::vector<JobEvent> events;
    std::int64_t bytes = 0;
    while (bytes < limit) {
      absl::StatusOr<JobEvent> event = Await(watcher->Next());
      if (!event.ok() || event->kind == JobEvent::Kind::kOutcome) break;
      if (event->kind == JobEvent::Kind::kOutput && event->output.stream == stream) {
        event->output.data.resize(
            std::min(static_cast<std::size_t>(limit - bytes), event->output.data.size()));
        bytes += static_cast<std::int64_t>(event->output.data.size());
        events.push_back(*std::move(event));
      } else if (event->kind == JobEvent::Kind::kGap && event->gap.stream == stream) {
        events.push_back(*std::move(event));
        if (bytes > 0) break;
      }
    }
    return Gather(events);
  }

  static Seen Gather(const std::vector<JobEvent>& events) {
    Seen seen;
    for (const JobEvent& event : events) Note(event, seen);
    return seen;
  }

  void ExpectAsWatched(const SettledJob& settled, const SettledJob::Stream& stream,
                       std::int64_t offset, std::int64_t limit) {
    const auto now = OutputNow(stream, offset, limit);
    ASSERT_TRUE(now.has_value()) << offset << " " << limit;
    const Seen seen = Gather(*now);
    const Seen watched = WatchPart(settled, stream.kind, offset, limit);
    EXPECT_TRUE(seen.out == watched.out) << offset << " " << limit;
    EXPECT_TRUE(seen.err == watched.err) << offset << " " << limit;
    ASSERT_EQ(seen.gaps.size(), watched.gaps.size()) << offset << " " << limit;
    for (std::size_t i = 0; i < seen.gaps.size(); ++i) {
      EXPECT_EQ(seen.gaps[i].from, watched.gaps[i].from) << offset << " " << limit;
      EXPECT_EQ(seen.gaps[i].to, watched.gaps[i].to) << offset << " " << limit;
    }
  }
};

TEST_F(SettledJobsTest, AnotherThreadSeesWhatTheStrandSees) {
  const SettledJob settled = Settle(Command("printf hello; exit 3"));
  const JobId id = settled.job.id;
  auto look = std::async(std::launch::async, [&]() { return table_->FindSettled(id); });
  const std::optional<SettledJob> seen = look.get();
  ASSERT_TRUE(seen.has_value());
  const JobSnapshot job = table_->Find(id).value();
  EXPECT_EQ(seen->job.state, JobState::kEnded);
  EXPECT_EQ(seen->job.command_head, job.command_head);
  EXPECT_EQ(seen->job.ended, job.ended);
  EXPECT_EQ(seen->job.output_bytes, 5);
  EXPECT_EQ(seen->job.outcome->code, 3);
  ASSERT_EQ(seen->streams.size(), 1u);
  EXPECT_EQ(seen->streams[0].size, 5);
}

TEST_F(SettledJobsTest, EveryPartIsAsAWatcherTellsIt) {
  JobSpec spec = Command("seq 100000000000000 100000000200000; echo oops >&2");
  spec.merge_streams = false;
  const SettledJob settled = Settle(std::move(spec));
  ASSERT_EQ(settled.streams.size(), 2u);
  const SettledJob::Stream& out = settled.streams[0];
  ASSERT_GT(out.dropped.size(), 0);
  const std::int64_t most = kMaxJobOutputChunk;
  for (const std::int64_t near : {std::int64_t{0}, out.dropped.from, out.dropped.to, out.size}) {
    for (const std::int64_t step : {-4097, -17, -1, 0, 1, 4096}) {
      const std::int64_t offset = std::clamp(near + step, std::int64_t{0}, out.size);
      for (const std::int64_t limit :
           {std::int64_t{1}, std::int64_t{17}, std::int64_t{4097}, most}) {
        ExpectAsWatched(settled, out, offset, limit);
      }
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t offset = std::uniform_int_distribution<std::int64_t>(0, out.size)(random);
    ExpectAsWatched(settled, out, offset,
                    std::uniform_int_distribution<std::int64_t>(1, most)(random));
  }
  ExpectAsWatched(settled, settled.streams[1], 0, 100);
  ExpectAsWatched(settled, settled.streams[1], 5, 100);
}

TEST_F(SettledJobsTest, WhatWouldKeepOthersWaitingIsLeftToTheStrand) {
  const SettledJob settled = Settle(Command("head -c 200000 /dev/zero"));
  const std::int64_t most = kMaxJobOutputChunk;
  EXPECT_TRUE(OutputNow(settled.streams[0], 0, most).has_value());
  EXPECT_FALSE(OutputNow(settled.streams[0], 0, most + 1).has_value());
  EXPECT_TRUE(OutputNow(settled.streams[0], settled.streams[0].size, most + 1).has_value());
}

TEST_F(SettledJobsTest, WhatMayStillChangeIsTheStrandsAlone) {
  const JobId runs = Start(Command("sleep 1000"));
  const JobId left = Start(Command("sleep 1000 >/dev/null 2>&1 & exit 0"));
  RunUntil([&]() { return table_->Find(left)->state == JobState::kEnded; });
  EXPECT_FALSE(table_->FindSettled(runs).has_value());
  EXPECT_FALSE(table_->FindSettled(left).has_value());
  EXPECT_FALSE(table_->FindSettled(JobId::Random(SystemRandom())).has_value());
  for (const JobId& id : {runs, left}) {
    ASSERT_TRUE(Await(table_->Signal(id, SIGKILL, absl::ZeroDuration(), false)).ok());
    RunUntil([&]() { return table_->FindSettled(id).has_value(); });
  }
}

TEST_F(SettledJobsTest, AForgottenJobIsNotFoundAndItsSpoolNotRead) {
  const SettledJob settled = Settle(Command("echo hello"));
  RunUntil([&]() { return table_->all_recorded(); });
  ASSERT_TRUE(Await(table_->Forget(absl::InfiniteFuture())).ok());
  EXPECT_FALSE(table_->Find(settled.job.id).ok());
  EXPECT_FALSE(table_->FindSettled(settled.job.id).has_value());
  EXPECT_FALSE(OutputNow(settled.streams[0], 0, 100).has_value()) << "who was quicker asks again";
}

TEST_F(SettledJobsTest, AnEarlierAgentsJobIsTheStrandsToRead) {
  const SettledJob settled = Settle(Command("echo hello"));
  RunUntil([&]() { return table_->all_recorded(); });
  RestartAgent();
  EXPECT_FALSE(table_->FindSettled(settled.job.id).has_value());
  EXPECT_EQ(Watch(settled.job.id).out, "hello\n");
}

}  // namespace
}  // namespace sandkeep
