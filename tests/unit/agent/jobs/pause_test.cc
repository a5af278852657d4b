// Jobs that are paused stand still, say why, and lose nothing by it.

#include <gmock/gmock.h>

#include <csignal>

#include "common/strings.h"
#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

constexpr char kReason[] = "paused: make room";

TEST_F(JobsTest, APausedJobPrintsNothingUntilItGoesOn) {
  const JobId id =
      Start(Command("i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); sleep 0.01; done"));
  AwaitOutput(id, 5);
  table_->Pause(kReason, absl::InfiniteFuture());
  EXPECT_EQ(table_->Find(id)->paused, kReason);
  // What was in the pipe is out of it after a moment of silence.
  std::int64_t printed = -1;
  while (printed != table_->Find(id)->output_bytes) {
    printed = table_->Find(id)->output_bytes;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    RunUntil([&]() { return std::chrono::steady_clock::now() > until; });
  }
  EXPECT_EQ(table_->Find(id)->state, JobState::kRunning);
  table_->GoOn();
  EXPECT_EQ(table_->Find(id)->paused, "");
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->code, 0);
  EXPECT_EQ(seen.out.substr(seen.out.size() - 4), "299\n");
}

TEST_F(JobsTest, AWatcherIsToldOnceThatItIsPausedAndThatItGoesOn) {
  const JobId id = Start(Command("sleep 1000"));
  table_->Pause(kReason, absl::InfiniteFuture());
  table_->Pause(kReason, absl::InfiniteFuture());
  // One that comes later is told at once.
  const auto watcher = table_->Watch(id, 0, /*follow=*/true);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  const absl::StatusOr<JobEvent> paused = Await((*watcher)->Next());
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->kind, JobEvent::Kind::kPaused);
  EXPECT_EQ(paused->paused, kReason);
  table_->GoOn();
  const absl::StatusOr<JobEvent> goes_on = Await((*watcher)->Next());
  EXPECT_EQ(goes_on->kind, JobEvent::Kind::kPaused);
  EXPECT_EQ(goes_on->paused, "");
  // Who comes after it has nothing to be told.
  const auto looking = table_->Watch(id, 0, /*follow=*/false);
  EXPECT_EQ(Await((*looking)->Next())->kind, JobEvent::Kind::kEndOfWhatThereIs);
}

TEST_F(JobsTest, WhatBeganLaterIsNotPaused) {
  const JobId id = Start(Command("sleep 1000"));
  const absl::Time began = table_->Find(id)->started;
  RunUntil([&]() { return absl::Now() > began + absl::Milliseconds(2); });
  const Seen seen = Run("echo on");
  table_->Pause(kReason, began);
  EXPECT_EQ(table_->Find(id)->paused, kReason);
  EXPECT_EQ(seen.out, "on\n");
  const JobId later = Start(Command("sleep 1000"));
  table_->Pause(kReason, began);
  EXPECT_EQ(table_->Find(later)->paused, "");
}

TEST_F(JobsTest, APausedJobCanBeEnded) {
  const JobId id = Start(Command("echo on; sleep 1000"));
  AwaitOutput(id, 3);
  table_->Pause(kReason, absl::InfiniteFuture());
  ASSERT_TRUE(Await(table_->Signal(id, SIGTERM, absl::Seconds(60), /*cancel=*/true)).ok());
  // It isn't stopped again on its way.
  table_->Pause(kReason, absl::InfiniteFuture());
  EXPECT_EQ(Watch(id).outcome->ending, Ending::kCancelled);
}

}  // namespace
}  // namespace sandkeep
