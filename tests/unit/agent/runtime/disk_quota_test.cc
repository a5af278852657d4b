// Projects are given to sandboxes, to no two of them the same. Whether limits hold is for a host
// that has some (tests/vm); that ids are given and inherited, for each file system that has
// projects (tests/faults/test_file_systems.py).

#include "agent/runtime/disk_quota.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "agent/runtime/layer_folder.h"
#include "agent/runtime/project.h"
#include "agent/runtime/removed_folder.h"
#include "common/limits.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;

class DiskQuotaTest : public testing::Test {
 protected:
  DiskQuotaTest() {
    std::string pattern = (fs::temp_directory_path() / "storage-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    storage_ = pattern;
    volumes_ = (storage_ / "volumes").string();
    fs::create_directory(volumes_);
    fs::create_directory(storage_ / "overlay");
  }
  ~DiskQuotaTest() override { fs::remove_all(storage_); }

  void SetUp() override {
    const absl::Status set = SetProject(storage_.string(), 1);
    if (absl::IsUnimplemented(set)) GTEST_SKIP() << set;
    ASSERT_TRUE(set.ok()) << set;
    ASSERT_TRUE(SetProject(storage_.string(), 0).ok());
  }

  const EngineName first_ = *EngineName::Parse("sandkeep-aaaaaaaaaaaaaaaaaaaa");
  const EngineName second_ = *EngineName::Parse("sandkeep-bbbbbbbbbbbbbbbbbbbb");
  fs::path storage_;
  std::string volumes_;
};

TEST_F(DiskQuotaTest, WhatIsMadeBelowIsOfTheVolumesProject) {
  const auto project = GiveProject(volumes_, first_);
  ASSERT_TRUE(project.ok()) << project.status();
  const fs::path data = fs::path(volumes_) / first_.text() / "_data";
  fs::create_directories(data / "a" / "b");
  EXPECT_EQ(ProjectOf((data / "a" / "b").string()).value(), *project);
  EXPECT_EQ(ProjectOfVolume(volumes_, first_), *project);
  EXPECT_EQ(ProjectOfVolume(volumes_, second_), 0U);
}

TEST_F(DiskQuotaTest, NoTwoSandboxesHaveOneProject) {
  const auto project = GiveProject(volumes_, first_);
  ASSERT_TRUE(project.ok()) << project.status();
  EXPECT_EQ(GiveProject(volumes_, first_).value(), *project);
  EXPECT_NE(GiveProject(volumes_, second_).value(), *project);
}

TEST_F(DiskQuotaTest, ARemovedSandboxKeepsItsProjectUntilItsFilesAreGone) {
  const auto project = GiveProject(volumes_, first_);
  ASSERT_TRUE(project.ok()) << project.status();
  ASSERT_TRUE(SetVolumeAside(volumes_, first_).value());
  ASSERT_TRUE(GiveVolumeUp(volumes_, first_).ok());
  EXPECT_NE(GiveProject(volumes_, second_).value(), *project);
  for (const std::string& path : ListRemoved(volumes_).given_up) fs::remove_all(path);
  EXPECT_EQ(GiveProject(volumes_, first_).value(), *project);
}

TEST_F(DiskQuotaTest, WhatIsMadeInAProjectsFolderStaysOfItElsewhere) {
  const auto project = GiveProject(volumes_, first_);
  ASSERT_TRUE(project.ok()) << project.status();
  const auto folder = MakeLayerFolder(volumes_, second_, *project);
  ASSERT_TRUE(folder.ok()) << folder.status();
  fs::create_directories(fs::path(*folder) / "layer" / "diff");
  fs::rename(fs::path(*folder) / "layer", storage_ / "overlay" / "layer");
  EXPECT_EQ(ProjectOf((storage_ / "overlay" / "layer" / "diff").string()).value(), *project);
}

TEST_F(DiskQuotaTest, WhatALayersFolderStillHoldsIsDeletedLater) {
  const auto folder = MakeLayerFolder(volumes_, second_, 0);
  ASSERT_TRUE(folder.ok()) << folder.status();
  fs::create_directories(fs::path(*folder) / "layer" / "diff");
  DropLayerFolder(volumes_, second_);
  EXPECT_TRUE(fs::is_empty(storage_ / "overlay"));
  EXPECT_EQ(ListRemoved(volumes_).given_up.size(), 1U);
}

TEST_F(DiskQuotaTest, TheFolderOfWhoDiedOverALayerIsDroppedOnceItIsOld) {
  const auto folder = MakeLayerFolder(volumes_, second_, 0);
  ASSERT_TRUE(folder.ok()) << folder.status();
  fs::create_directory(storage_ / "overlay" / "somebodys");
  DropOldLayerFolders(volumes_);
  EXPECT_TRUE(fs::exists(*folder)) << "somebody may be at work in it";
  fs::last_write_time(*folder, fs::file_time_type::clock::now() - 3 * kEngineStartDeadline);
  DropOldLayerFolders(volumes_);
  EXPECT_FALSE(fs::exists(*folder));
  EXPECT_TRUE(fs::exists(storage_ / "overlay" / "somebodys"));
}

TEST_F(DiskQuotaTest, WhereNoLimitIsInForceNothingIsSaidToBeHeld) {
  constexpr std::int64_t kNobodysLimit = 1 << 20;
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckQuota(volumes_, kNobodysLimit)));
  EXPECT_TRUE(absl::IsFailedPrecondition(HoldVolume(volumes_, first_, kNobodysLimit)));
  EXPECT_TRUE(fs::is_empty(volumes_)) << "the engine was to make it";
}

}  // namespace
}  // namespace sandkeep
