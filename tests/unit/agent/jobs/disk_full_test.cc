// A full disk stops the writer, not the agent, and costs no byte.

#include <sys/mount.h>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

class DiskFullTest : public JobsTest {
 protected:
  void SetUp() override {
    JobsTest::SetUp();
    if (IsSkipped()) return;
    mounted_ = ::mount("tmpfs", SpoolDir().c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!mounted_) GTEST_SKIP() << "may not mount a small file system";
  }
  void TearDown() override {
    if (mounted_) ::umount2(SpoolDir().c_str(), MNT_DETACH);
    JobsTest::TearDown();
  }
  void MakeRoom() {
    ASSERT_EQ(::mount("tmpfs", SpoolDir().c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  }

  bool mounted_ = false;
};

TEST_F(DiskFullTest, TheWriterWaitsAndEveryByteComesWhenThereIsRoom) {
  const JobId id = Start(Command("head -c 3000000 /dev/zero | tr '\\0' x; exit 3"));
  AwaitOutput(id, 1 << 20);
  EXPECT_EQ(table_->running(), 1);
  MakeRoom();
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kExited);
  EXPECT_EQ(seen.outcome->code, 3);
  EXPECT_TRUE(seen.out == std::string(3'000'000, 'x'));
}

TEST_F(DiskFullTest, ACommandThatEndsMeanwhileSaysWhyItsOutputIsShort) {
  const JobId id = Start(Command("head -c 1080000 /dev/zero | tr '\\0' x; exit 3"));
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.outcome->ending, Ending::kDiskFull);
  EXPECT_EQ(ShellExitCode(*seen.outcome), 3);
  EXPECT_NE(seen.outcome->remedy, "");
  MakeRoom();
  AwaitOutput(id, 1'080'000);
  EXPECT_TRUE(Watch(id).out == std::string(1'080'000, 'x'));
}

}  // namespace
}  // namespace sandkeep
