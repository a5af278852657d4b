#include "common/trusted_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace sandkeep {
namespace {

constexpr uid_t kNobody = 65534;

class TrustedFolderTest : public testing::Test {
 protected:
  TrustedFolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "sandkeep-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    inner_ = folder_ + "/agent";
    std::filesystem::create_directory(inner_);
  }
  ~TrustedFolderTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::string inner_;
};

TEST_F(TrustedFolderTest, OurOwnFolderBelowAStickyOneIsTrusted) {
  for (const FolderOwner owner : {FolderOwner::kSelf, FolderOwner::kAnyPeer}) {
    EXPECT_TRUE(CheckTrustedFolder(inner_, owner).ok());
    EXPECT_TRUE(CheckTrustedFolder(inner_ + "/", owner).ok());
    EXPECT_TRUE(CheckTrustedFolder("/", owner).ok());
  }
}

TEST_F(TrustedFolderTest, AFolderThatOthersCanWriteIsRefusedEvenIfSticky) {
  for (const int mode : {0777, 0775, 01777}) {
    ::chmod(inner_.c_str(), mode);
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckTrustedFolder(inner_, FolderOwner::kAnyPeer)));
  }
}

TEST_F(TrustedFolderTest, AParentThatOthersCanWriteIsRefused) {
  ::chmod(folder_.c_str(), 0777);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckTrustedFolder(inner_, FolderOwner::kAnyPeer)));
}

TEST_F(TrustedFolderTest, AFolderYetToBeMadeIsJudgedByWhereItWillBe) {
  EXPECT_TRUE(CheckTrustedFolder(inner_ + "/a/b", FolderOwner::kAnyPeer).ok());
  ::chmod(inner_.c_str(), 01777);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckTrustedFolder(inner_ + "/a", FolderOwner::kAnyPeer)));
}

TEST_F(TrustedFolderTest, ALinkIsFollowedAndItsTargetJudged) {
  std::filesystem::create_directory_symlink(inner_, folder_ + "/link");
  EXPECT_TRUE(CheckTrustedFolder(folder_ + "/link", FolderOwner::kSelf).ok());
  ::chmod(inner_.c_str(), 0777);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(CheckTrustedFolder(folder_ + "/link", FolderOwner::kSelf)));
}

TEST_F(TrustedFolderTest, AnotherUsersFolderIsTrustedOnlyAsAPeersAndOnlyIfRootLetItBe) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(::chown(inner_.c_str(), kNobody, kNobody), 0);
  EXPECT_TRUE(CheckTrustedFolder(inner_, FolderOwner::kAnyPeer).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckTrustedFolder(inner_, FolderOwner::kSelf)));
  // Where anybody may make folders, its owner may be anybody.
  ::chmod(folder_.c_str(), 01777);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckTrustedFolder(inner_, FolderOwner::kAnyPeer)));
  // And what that user made inside is no safer.
  ::chmod(folder_.c_str(), 0755);
  std::filesystem::create_directory(inner_ + "/deep");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(CheckTrustedFolder(inner_ + "/deep", FolderOwner::kAnyPeer)));
}

}  // namespace
}  // namespace sandkeep
