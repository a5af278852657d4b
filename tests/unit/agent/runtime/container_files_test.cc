// A container's own /etc/hosts and the like must be there whole at every start, and nothing of them
// may stay when the container goes.

#include "agent/runtime/container_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agent/runtime/small_file.h"
#include "agent/runtime/volume_folders.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ContainerFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/sandkeep-files-of-containers.XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    base_ = folder;
    folder_ = (base_ / "sandboxes" / "one").string();
  }
  void TearDown() override { fs::remove_all(base_); }

  static std::string Read(const fs::path& path) {
    return ReadSmallFile(path.string(), 4096).value_or("unreadable");
  }
  static mode_t ModeOf(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  fs::path base_;
  std::string folder_;
};

TEST_F(ContainerFilesTest, EveryFileIsThereAndReadableInside) {
  const mode_t before = ::umask(0077);
  const absl::Status written =
      WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kSlirp4netns);
  ::umask(before);

  ASSERT_TRUE(written.ok()) << written;
  EXPECT_EQ(Read(folder_ + "/hostname"), "amber-otter\n");
  EXPECT_THAT(Read(folder_ + "/hosts"), HasSubstr("127.0.1.1 amber-otter\n"));
  EXPECT_EQ(Read(folder_ + "/resolv.conf"), "nameserver 10.0.2.3\n");
  EXPECT_EQ(ModeOf(folder_), 0711u);
  for (const char* name : {"/hosts", "/hostname", "/resolv.conf", "/containerenv"}) {
    EXPECT_EQ(ModeOf(folder_ + name), 0444u) << name;
  }
}

TEST_F(ContainerFilesTest, WhatIsMountedAlreadyIsNotReplaced) {
  ASSERT_TRUE(WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kPasta).ok());
  struct stat before{};
  ASSERT_EQ(::stat((folder_ + "/hosts").c_str(), &before), 0);

  ASSERT_TRUE(WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kPasta).ok());

  struct stat after{};
  ASSERT_EQ(::stat((folder_ + "/hosts").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(ContainerFilesTest, AFileThatAPowerCutEmptiedIsWrittenAnew) {
  ASSERT_TRUE(WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kPasta).ok());
  fs::resize_file(folder_ + "/resolv.conf", 0);
  ASSERT_TRUE(WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kPasta).ok());
  EXPECT_EQ(Read(folder_ + "/resolv.conf"), "nameserver 169.254.1.1\n");
}

TEST_F(ContainerFilesTest, RemovingLeavesNothingAndCanBeRepeated) {
  ASSERT_TRUE(WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kNone).ok());
  std::ofstream(folder_ + "/pid") << "7";
  EXPECT_TRUE(RemoveContainerFiles(folder_).ok());
  EXPECT_TRUE(RemoveContainerFiles(folder_).ok());
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(ContainerFilesTest, APidFileHoldsAPidOrIsAnError) {
  ASSERT_TRUE(WriteContainerFiles(folder_, "amber-otter", NetworkHelper::kNone).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadPidFile(folder_).status()));
  for (const char* text : {"", "x", "0", "1", "-5", "12x", "99999999999"}) {
    std::ofstream(folder_ + "/pid") << text;
    EXPECT_TRUE(absl::IsDataLoss(ReadPidFile(folder_).status())) << text;
  }
  std::ofstream(folder_ + "/pid") << "4711\n";
  EXPECT_EQ(*ReadPidFile(folder_), 4711);
}

TEST_F(ContainerFilesTest, ABindingIsWrittenOnceAndNeverChanged) {
  const EngineName volume = *EngineName::Parse("sandkeep-bbbbbbbbbbbbbbbbbbbb");
  fs::create_directory(base_ / volume.text());
  const std::string volumes = base_.string();

  EXPECT_EQ(ReadBinding(volumes, volume), "");
  EXPECT_TRUE(WriteBinding(volumes, volume, "one").ok());
  EXPECT_TRUE(WriteBinding(volumes, volume, "one").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteBinding(volumes, volume, "two")));
  EXPECT_EQ(ReadBinding(volumes, volume), "one");
  EXPECT_FALSE(WriteBinding(volumes, volume, std::string(kMaxBindingBytes + 1, 'x')).ok());
}

TEST_F(ContainerFilesTest, AHugeFileOrASymlinkIsNotRead) {
  std::ofstream(base_ / "huge") << std::string(5000, 'x');
  EXPECT_TRUE(absl::IsResourceExhausted(ReadSmallFile((base_ / "huge").string(), 4999).status()));
  fs::create_symlink("huge", base_ / "link");
  EXPECT_FALSE(ReadSmallFile((base_ / "link").string(), 10000).ok());
}

}  // namespace
}  // namespace sandkeep
