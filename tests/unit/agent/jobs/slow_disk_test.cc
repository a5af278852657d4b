// A disk that takes less than is printed: what is printed waits for it, and nobody else.

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <latch>
#include <thread>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

constexpr std::int64_t kFlood = 64 << 20;
// A first line, too short to be the disk's threads' affair, shows that the command is up.
constexpr std::int64_t kUpBytes = 3;

class SlowDiskTest : public JobsTest {
 protected:
  // Whatever the disk's threads do next takes until Release.
  void HoldDisk() {
    for (int i = 0; i < 2; ++i) boost::asio::post(disk_, [this]() { held_.wait(); });
  }
  void Release() { held_.count_down(); }

  // It prints as fast as it can, and the disk takes none of it any more.
  JobId StartFlood() {
    const JobId id = Start(Command("echo up; sleep 0.1; head -c 64M /dev/zero"));
    std::int64_t last = 0;
    int same = 0;
    RunUntil([&]() {
      // A look at each of its turns would be slower than the disk, which then never came in.
      io_.run_for(std::chrono::milliseconds(20));
      const std::int64_t now = table_->Find(id)->output_bytes;
      same = now >= kUpBytes && now == last ? same + 1 : 0;
      last = now;
      return same >= 10;
    });
    return id;
  }

  std::latch held_{1};
};

TEST_F(SlowDiskTest, AFloodThatTheDiskHoldsUpKeepsNobodyElseWaiting) {
  HoldDisk();
  const JobId flood = StartFlood();
  EXPECT_EQ(Run("echo quick").out, "quick\n");
  EXPECT_EQ(table_->Find(flood)->state, JobState::kRunning);
  EXPECT_LT(table_->Find(flood)->output_bytes, kFlood);
  Release();
  const Seen seen = Watch(flood);
  ASSERT_TRUE(seen.outcome.has_value());
  EXPECT_EQ(seen.outcome->output_bytes, kUpBytes + kFlood);
}

TEST_F(SlowDiskTest, WhatAnEndedCommandPrintedIsWaitedForHoweverSlowTheDisk) {
  HoldDisk();
  const JobId flood = StartFlood();
  // What it could write is in its pipe, and it is dead.
  EXPECT_TRUE(Await(table_->Signal(flood, SIGKILL, absl::ZeroDuration(), false)).ok());
  const auto later = std::chrono::steady_clock::now() + 2 * kExitGraceMax;
  RunUntil([&]() { return std::chrono::steady_clock::now() > later; });
  EXPECT_EQ(table_->Find(flood)->state, JobState::kRunning);
  const std::int64_t before = table_->Find(flood)->output_bytes;
  Release();
  const Seen seen = Watch(flood);
  ASSERT_TRUE(seen.outcome.has_value());
  EXPECT_GT(seen.outcome->output_bytes, before);
  EXPECT_EQ(static_cast<std::int64_t>(seen.out.size()), seen.outcome->output_bytes);
}

TEST_F(SlowDiskTest, WhatIsLeftBehindAndPrintsForEverDoesNotHoldUpTheEnd) {
  const Seen seen = Run("cat /dev/zero & exec sleep 0.3");
  ASSERT_TRUE(seen.outcome.has_value());
  EXPECT_EQ(seen.outcome->left_behind, 1);
}

TEST_F(SlowDiskTest, AnAgentThatGoesWhileTheDiskIsHeldLeavesTheRestToTheNext) {
  HoldDisk();
  const JobId flood = StartFlood();
  std::thread release([this]() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Release();
  });
  RestartAgent();
  release.join();
  const Seen seen = Watch(flood);
  ASSERT_TRUE(seen.outcome.has_value());
  EXPECT_EQ(seen.outcome->output_bytes, kUpBytes + kFlood);
}

}  // namespace
}  // namespace sandkeep
