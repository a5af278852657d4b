// Two agents on one state folder would each end what the other one runs.

#include "agent/state_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/strings.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep {
namespace {

class StateDirTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "state-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  mode_t ModeOf(const std::string& name) const {
    struct stat info{};
    EXPECT_EQ(::stat(StrCat(dir_, "/", name).c_str(), &info), 0) << name;
    return info.st_mode & 0777;
  }

  std::string dir_;
  FakeRandom random_;
};

TEST_F(StateDirTest, ASecondAgentIsRefusedUntilTheFirstIsGone) {
  {
    const auto first = StateDir::Open(dir_);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = StateDir::Open(dir_);
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(ToStd(second.status().message())), testing::HasSubstr("another agent"));
  }
  EXPECT_TRUE(StateDir::Open(dir_).ok());
}

TEST_F(StateDirTest, AFolderThatOthersMayWriteToIsRefused) {
  std::filesystem::permissions(dir_, std::filesystem::perms::all);
  EXPECT_EQ(StateDir::Open(dir_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StateDirTest, AFolderThatOthersMayPassThroughIsTaken) {
  // podman makes it so.
  std::filesystem::permissions(dir_, static_cast<std::filesystem::perms>(0711));
  EXPECT_TRUE(StateDir::Open(dir_).ok());
}

TEST_F(StateDirTest, APrincipalsShareOfTheDiskIsHalfOfWhatWasFreeAtFirst) {
  EXPECT_EQ(*FirstPrincipalDisk(dir_, 20LL << 30), 10LL << 30);
  EXPECT_EQ(*FirstPrincipalDisk(dir_, 10), 10LL << 30);
  // However full the disk was then.
  std::filesystem::remove(StrCat(dir_, "/principal-disk"));
  EXPECT_EQ(*FirstPrincipalDisk(dir_, 0), 4LL << 30);
  std::ofstream(StrCat(dir_, "/principal-disk")) << "12x\n";
  EXPECT_TRUE(absl::IsDataLoss(FirstPrincipalDisk(dir_, 10).status()));
}

TEST_F(StateDirTest, TheInstanceStaysTheSame) {
  const auto state = StateDir::Open(dir_);
  const auto first = state->Instance(random_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*state->Instance(random_), *first);
  std::ifstream file(dir_ + "/instance");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, first->hex());
}

TEST_F(StateDirTest, AnInstanceThatIsMissingBesideRecordsIsNotReplacedSilently) {
  const auto state = StateDir::Open(dir_);
  ASSERT_TRUE(state.ok()) << state.status();
  std::ofstream(dir_ + "/agent.db") << "records";
  const auto instance = state->Instance(random_);
  EXPECT_EQ(instance.status().code(), absl::StatusCode::kDataLoss) << instance.status();
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/instance"));
}

TEST_F(StateDirTest, TheSecretIsMadeOnceAndTheOwnersAlone) {
  const auto first = KeySecret(dir_, random_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->Reveal().size(), 32u);
  EXPECT_EQ(KeySecret(dir_, random_)->Reveal(), first->Reveal());
  EXPECT_EQ(ModeOf("secret"), 0600u);
}

TEST_F(StateDirTest, ASecretThatOthersCanReadIsRefused) {
  ASSERT_TRUE(KeySecret(dir_, random_).ok());
  std::filesystem::permissions(dir_ + "/secret", static_cast<std::filesystem::perms>(0640));
  EXPECT_EQ(KeySecret(dir_, random_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StateDirTest, ASecretThatIsASymlinkIsRefused) {
  std::filesystem::create_symlink("/etc/hostname", dir_ + "/secret");
  EXPECT_FALSE(KeySecret(dir_, random_).ok());
}

TEST_F(StateDirTest, ADamagedSecretIsNotReplacedSilently) {
  ASSERT_TRUE(KeySecret(dir_, random_).ok());
  std::filesystem::resize_file(dir_ + "/secret", 5);
  EXPECT_EQ(KeySecret(dir_, random_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(StateDirTest, AnAgentThatDiedWhileItMadeTheSecretLeavesNoHalfOne) {
  std::ofstream(dir_ + "/secret.new") << "half";
  const auto secret = KeySecret(dir_, random_);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->Reveal().size(), 32u);
}

TEST_F(StateDirTest, AnEngineWhoseRunRootMovedIsRefusedByName) {
  const std::string first = StrCat(dir_, "/first");
  const std::string second = StrCat(dir_, "/second");
  std::filesystem::create_directory(first);
  std::filesystem::create_directory(second);
  ASSERT_TRUE(CheckRunRoot(dir_, first).ok());
  EXPECT_TRUE(CheckRunRoot(dir_, first).ok());
  const absl::Status moved = CheckRunRoot(dir_, second);
  EXPECT_EQ(moved.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ToStd(moved.message())),
              testing::AllOf(testing::HasSubstr(StrCat("from ", first, " to ", second)),
                             testing::HasSubstr("XDG_RUNTIME_DIR")));
  EXPECT_FALSE(CheckRunRoot(dir_, "").ok());
  std::filesystem::remove(StrCat(dir_, "/run-root"));
  EXPECT_TRUE(CheckRunRoot(dir_, second).ok());
}

TEST_F(StateDirTest, ARunRootThatIsNotThereIsNamedWithTheRemedy) {
  const absl::Status missing = CheckRunRoot(dir_, StrCat(dir_, "/missing"));
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ToStd(missing.message())), testing::HasSubstr("sandkeep-host"));
  EXPECT_FALSE(std::filesystem::exists(StrCat(dir_, "/run-root")));
}

}  // namespace
}  // namespace sandkeep
