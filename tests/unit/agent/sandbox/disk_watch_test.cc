// What grows too much is paused, says so, and goes on when there is room again; its sandbox takes
// commands all the while.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "common/limits.h"
#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DiskWatchTest : public AgentTest {
 protected:
  DiskWatchTest() { limits_.disk_interval = absl::Milliseconds(25); }

  // A megabyte at a time, until there is `stop` or it is stopped.
  static std::string Grow(std::string_view file) {
    return StrCat("while [ ! -e stop ]; do head -c 1048576 /dev/zero >>", file,
                  "; done; echo done");
  }
  fs::path data() const { return runtime_.data(runtime_.volumes().front()); }

  // Of the next event that is of this kind.
  JobEvent NextOfKind(JobWatcher& watcher, JobEvent::Kind kind) {
    for (;;) {
      absl::StatusOr<JobEvent> event = Wait(watcher.Next());
      EXPECT_TRUE(event.ok()) << event.status();
      if (!event.ok()) return {};
      if (event->kind == kind) return *std::move(event);
      EXPECT_NE(event->kind, JobEvent::Kind::kOutcome);
      if (event->kind == JobEvent::Kind::kOutcome) return *std::move(event);
    }
  }
  // Init is told to stop it, and needs a moment.
  static bool StandsStill(const fs::path& file) {
    constexpr std::chrono::milliseconds kLong{100};
    std::uintmax_t size = 0;
    auto since = std::chrono::steady_clock::now();
    return Becomes([&]() {
      const auto now = std::chrono::steady_clock::now();
      if (fs::file_size(file) != std::exchange(size, fs::file_size(file))) since = now;
      return now - since > kLong;
    });
  }
  static bool Becomes(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + kTestPatience;
    while (!so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return so();
  }
};

TEST_F(DiskWatchTest, WhatGrowsOverTheSandboxsLimitIsPausedUntilThereIsRoom) {
  Die();
  limits_.sandbox_disk_bytes = 32 << 20;
  Boot();
  OutputOf(alice_, "otter", "head -c 4M /dev/zero >ballast");
  auto started = Start(alice_, "otter", Grow("big"));
  ASSERT_TRUE(started.ok()) << started.status();
  const JobEvent paused = NextOfKind(*started->watcher, JobEvent::Kind::kPaused);
  EXPECT_THAT(paused.paused, HasSubstr("this sandbox has used up its 32 MiB of disk"));

  // It stands still, and the sandbox is as usable as ever.
  EXPECT_TRUE(StandsStill(data() / "big"));
  const auto jobs = Wait(manager().ListJobs(RefOf(alice_, "otter"), 1));
  EXPECT_EQ(jobs->front().paused, paused.paused);
  // What begins later is to make room.
  clock_.Advance(absl::Seconds(1));
  auto cleaning = Start(alice_, "otter", "rm big; touch stop; echo cleaned");
  ASSERT_TRUE(cleaning.ok()) << cleaning.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*cleaning->watcher, &outcome), "cleaned\n");

  // That it goes on may be passed over, if it has ended by then.
  EXPECT_EQ(ReadToEnd(*started->watcher, &outcome), "done\n");
  EXPECT_EQ(outcome.ending, Ending::kExited);
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(DiskWatchTest, OnlyWhoIsOverItsShareWaits) {
  Die();
  limits_.principal_disk_bytes = 32 << 20;
  Boot();
  auto started = Start(alice_, "otter", Grow("big"));
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_THAT(NextOfKind(*started->watcher, JobEvent::Kind::kPaused).paused,
              HasSubstr("your sandboxes together have used up their 32 MiB"));
  const auto waits = HasSubstr("commands wait for room on the disk");
  ASSERT_TRUE(Becomes([&]() {
    return testing::Value(Wait(manager().Info())->warnings, testing::Contains(waits));
  }));
  const absl::Status refused = Start(alice_, "badger", "true").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(ToStd(refused.message())), HasSubstr("The longest unused are: otter"));
  EXPECT_EQ(OutputOf(bob_, "otter", "head -c 4M /dev/zero >f && echo fine"), "fine\n");
  clock_.Advance(absl::Seconds(1));
  OutputOf(alice_, "otter", "touch stop; rm big");
  Outcome outcome;
  ReadToEnd(*started->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kExited);
}

// Packages count as files do.
TEST_F(DiskWatchTest, WhatIsInstalledCounts) {
  Die();
  limits_.sandbox_disk_bytes = 32 << 20;
  Boot();
  auto started = Start(alice_, "otter", "while [ ! -e stop ]; do sleep 0.01; done");
  ASSERT_TRUE(started.ok()) << started.status();
  const fs::path layer = runtime_.layer(runtime_.containers().front());
  ASSERT_TRUE(Becomes([&]() { return fs::exists(layer); }));
  std::ofstream(layer / "package") << std::string(48 << 20, 'x');
  EXPECT_THAT(NextOfKind(*started->watcher, JobEvent::Kind::kPaused).paused,
              HasSubstr("files and packages together"));
  // The look may have come while it was being written.
  EXPECT_GE(manager().Get(RefOf(alice_, "otter"))->layer_bytes, limits_.sandbox_disk_bytes / 2);
  fs::remove(layer / "package");
  EXPECT_EQ(NextOfKind(*started->watcher, JobEvent::Kind::kPaused).paused, "");
  clock_.Advance(absl::Seconds(1));
  OutputOf(alice_, "otter", "touch stop");
}

TEST_F(DiskWatchTest, ACommandThatIsPausedCanBeStopped) {
  Die();
  limits_.sandbox_disk_bytes = 16 << 20;
  Boot();
  auto started = Start(alice_, "otter", Grow("big"));
  ASSERT_TRUE(started.ok()) << started.status();
  NextOfKind(*started->watcher, JobEvent::Kind::kPaused);
  auto stopped =
      Wait(manager().SignalJob(RefOf(alice_, "otter"), started->job.id, 15, absl::Seconds(2)));
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  Outcome outcome;
  ReadToEnd(*started->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kCancelled);
}

// The next agent doesn't know what this one had stopped.
TEST_F(DiskWatchTest, WhatIsPausedOutlivesTheAgentAndGoesOn) {
  Die();
  limits_.sandbox_disk_bytes = 16 << 20;
  Boot();
  auto started = Start(alice_, "otter", Grow("big"));
  ASSERT_TRUE(started.ok()) << started.status();
  const JobId id = started->job.id;
  NextOfKind(*started->watcher, JobEvent::Kind::kPaused);
  started->watcher.reset();
  Die();
  fs::remove(data() / "big");
  std::ofstream(data() / "stop") << "";
  Boot();
  auto watched = Wait(manager().WatchJob(RefOf(alice_, "otter"), id, 0, true));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "done\n");
}

// Nor does it write on until the next look finds that it does.
TEST_F(DiskWatchTest, WhatIsPausedStaysSoWithTheNextAgentWhileThereIsNoRoom) {
  Die();
  limits_.sandbox_disk_bytes = 16 << 20;
  Boot();
  auto started = Start(alice_, "otter", Grow("big"));
  ASSERT_TRUE(started.ok()) << started.status();
  NextOfKind(*started->watcher, JobEvent::Kind::kPaused);
  started->watcher.reset();
  ASSERT_TRUE(StandsStill(data() / "big"));
  const std::uintmax_t size = fs::file_size(data() / "big");
  Die();
  Boot();
  const auto paused = [&]() {
    const auto jobs = Wait(manager().ListJobs(RefOf(alice_, "otter"), 1));
    return jobs.ok() && !jobs->front().paused.empty();
  };
  ASSERT_TRUE(Becomes(paused));
  EXPECT_EQ(fs::file_size(data() / "big"), size);
  clock_.Advance(absl::Seconds(1));
  OutputOf(alice_, "otter", "rm big; touch stop");
}

TEST_F(DiskWatchTest, WhatASandboxUsesIsKnownToTheNextAgentAtOnce) {
  OutputOf(alice_, "otter", "head -c 14M /dev/zero >f");
  const auto used = [this]() { return manager().Get(RefOf(alice_, "otter"))->workspace_bytes; };
  ASSERT_TRUE(Becomes([&]() { return used() >= 14 << 20; }));
  // Behind what is written of the look.
  OutputOf(alice_, "otter", "true");
  AwaitRecords();
  Die();
  limits_.disk_interval = absl::InfiniteDuration();
  Boot();
  // Less than this more than what an earlier look wrote down isn't written anew.
  EXPECT_GE(used(), (14 << 20) - kLeastGrowth);
}

TEST_F(DiskWatchTest, ResultsSaySoOnceAnHourWhenLittleIsLeft) {
  Die();
  limits_.sandbox_disk_bytes = 16 << 20;
  Boot();
  EXPECT_THAT(Start(alice_, "otter", "head -c 14M /dev/zero >f")->notes, IsEmpty());
  ASSERT_TRUE(Becomes(
      [&]() { return manager().Get(RefOf(alice_, "otter"))->workspace_bytes >= 14 << 20; }));
  EXPECT_THAT(Run(alice_, "otter", "true")->started.notes,
              ElementsAre(HasSubstr("this sandbox uses 14 MiB of its 16 MiB of disk")));
  EXPECT_THAT(Run(alice_, "otter", "true")->started.notes, IsEmpty());
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(Run(alice_, "otter", "true")->started.notes, Not(IsEmpty()));
}

TEST_F(DiskWatchTest, FilesFromOutsideMeetTheSameLimits) {
  Die();
  limits_.sandbox_disk_bytes = 16 << 20;
  Boot();
  OutputOf(alice_, "otter", "head -c 14M /dev/zero >f");
  ASSERT_TRUE(Becomes(
      [&]() { return manager().Get(RefOf(alice_, "otter"))->workspace_bytes >= 14 << 20; }));
  NewFileSpec spec;
  spec.size = 4 << 20;
  const auto refused =
      Wait(manager().CreateFile(RefOf(alice_, "otter"), *RelPath::Parse("g"), spec));
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_THAT(std::string(ToStd(refused.status().message())), HasSubstr("uses 14 MiB of its 16"));
  spec.size = 1 << 20;
  EXPECT_TRUE(Wait(manager().CreateFile(RefOf(alice_, "otter"), *RelPath::Parse("g"), spec)).ok());
}

}  // namespace
}  // namespace sandkeep
