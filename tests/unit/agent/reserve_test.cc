// A disk that others have filled still takes what the agent has to write, and what it took is held
// again afterwards.

#include "agent/reserve.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::int64_t kSlice = (std::int64_t{1} << 20) / kReserveSlices;

class ReserveTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "reserve-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    // A sixteenth of it: 1 MiB.
    mounted_ = ::mount("tmpfs", dir_.c_str(), "tmpfs", 0, "size=16m") == 0;
    if (!mounted_) GTEST_SKIP() << "may not mount a small file system";
  }
  void TearDown() override {
    if (mounted_) ::umount2(dir_.c_str(), MNT_DETACH);
    std::filesystem::remove(dir_);
  }

  std::int64_t Free() const {
    struct statvfs info{};
    EXPECT_EQ(::statvfs(dir_.c_str(), &info), 0);
    return static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
  }

  // Down to the last block.
  void Fill() const {
    const auto files = std::distance(std::filesystem::directory_iterator(dir_), {});
    const std::string path = StrCat(dir_, "/others-", files);
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    ASSERT_EQ(::fallocate(file.get(), 0, 0, Free()), 0);
    ASSERT_EQ(Free(), 0);
  }
  void RemoveWhatOthersWrote() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
      if (entry.path().filename().string().starts_with("others-")) std::filesystem::remove(entry);
    }
  }

  std::string dir_;
  bool mounted_ = false;
};

TEST_F(ReserveTest, IsHeldFromTheStart) {
  const std::int64_t free = Free();
  const auto reserve = Reserve::Open(dir_);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  EXPECT_EQ(reserve->whole(), std::int64_t{1} << 20);
  EXPECT_EQ(reserve->held(), reserve->whole());
  EXPECT_EQ(free - Free(), reserve->whole());
}

TEST_F(ReserveTest, IsSetFreeSliceBySliceAndHeldAgainWhenThereIsRoom) {
  auto reserve = Reserve::Open(dir_);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  for (std::int64_t slices = kReserveSlices - 1; slices >= 0; --slices) {
    Fill();
    ASSERT_TRUE(reserve->Look().ok());
    EXPECT_EQ(Free(), kSlice);
    EXPECT_EQ(reserve->held(), slices * kSlice);
    // There is a slice: no more goes before it is used.
    ASSERT_TRUE(reserve->Look().ok());
    EXPECT_EQ(reserve->held(), slices * kSlice);
  }
  Fill();
  EXPECT_TRUE(reserve->Look().ok());
  EXPECT_EQ(Free(), 0);
  RemoveWhatOthersWrote();
  ASSERT_TRUE(reserve->Look().ok());
  EXPECT_EQ(reserve->held(), reserve->whole());
}

TEST_F(ReserveTest, OfLittleRoomOnlyWhatLeavesSomeIsHeld) {
  auto reserve = Reserve::Open(dir_);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  for (int looks = 0; looks < kReserveSlices; ++looks) {
    Fill();
    ASSERT_TRUE(reserve->Look().ok());
  }
  ASSERT_EQ(reserve->held(), 0);
  ASSERT_EQ(Free(), kSlice);
  ASSERT_EQ(::mount("tmpfs", dir_.c_str(), "tmpfs", MS_REMOUNT,
                    StrCat("size=", (std::int64_t{16} << 20) + 5 * kSlice).c_str()),
            0);
  ASSERT_TRUE(reserve->Look().ok());
  EXPECT_EQ(reserve->held(), 2 * kSlice);
  EXPECT_EQ(Free(), kReserveMargin * kSlice);
}

TEST_F(ReserveTest, TheNextAgentHasWhatThisOneHeld) {
  ASSERT_TRUE(Reserve::Open(dir_).ok());
  Fill();
  const auto next = Reserve::Open(dir_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->held(), next->whole() - kSlice) << "it sets a slice free at once";
}

TEST_F(ReserveTest, OneThatASmallerDiskCantHaveIsMadeSmaller) {
  const UniqueFd file(::open(StrCat(dir_, "/reserve").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::fallocate(file.get(), 0, 0, 4 << 20), 0);
  const auto reserve = Reserve::Open(dir_);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  EXPECT_EQ(reserve->held(), reserve->whole());
  struct stat info{};
  ASSERT_EQ(::fstat(file.get(), &info), 0);
  EXPECT_EQ(info.st_size, reserve->whole());
}

// As a backup brings it back.
TEST_F(ReserveTest, OneThatIsAllHolesIsHeldAnew) {
  const UniqueFd file(::open(StrCat(dir_, "/reserve").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::ftruncate(file.get(), 1 << 20), 0);
  const std::int64_t free = Free();
  const auto reserve = Reserve::Open(dir_);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  EXPECT_EQ(reserve->held(), reserve->whole());
  EXPECT_EQ(free - Free(), reserve->whole());
}

TEST_F(ReserveTest, OfWhatMustStayFreeForOthersNothingIsTaken) {
  const std::int64_t floor = Free() - 3 * kSlice;
  const auto reserve = Reserve::Open(dir_, floor);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  EXPECT_EQ(reserve->held(), 3 * kSlice);
  EXPECT_GE(Free(), floor);
}

TEST_F(ReserveTest, AFileSystemWithoutASizeHasNone) {
  ASSERT_EQ(::mount("ramfs", dir_.c_str(), "ramfs", 0, nullptr), 0);
  EXPECT_TRUE(absl::IsUnimplemented(Reserve::Open(dir_).status()));
  ::umount2(dir_.c_str(), MNT_DETACH);
}

TEST_F(ReserveTest, AFullDiskHasNoneAndGetsOne) {
  Fill();
  auto reserve = Reserve::Open(dir_);
  ASSERT_TRUE(reserve.ok()) << reserve.status();
  EXPECT_EQ(reserve->held(), 0);
  RemoveWhatOthersWrote();
  ASSERT_TRUE(reserve->Look().ok());
  EXPECT_EQ(reserve->held(), reserve->whole());
}

}  // namespace
}  // namespace sandkeep
