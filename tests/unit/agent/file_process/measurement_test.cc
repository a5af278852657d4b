// A tree is measured whole, or it is said that it wasn't: whatever a sandbox makes of it.

#include "agent/file_process/measurement.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "agent/file_process/search.h"
#include "common/limits.h"
#include "tests/unit/agent/file_process/test_volume.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr auto kAtOnce = std::chrono::steady_clock::time_point::min();

// A folder where the agent's user plays the sandbox. Everything in it is gone afterwards, however
// deep it is.
class MeasurementTest : public FileProcessTest {
 protected:
  void SetUp() override {
    FileProcessTest::SetUp();
    if (!IsSkipped()) MakeOpenFolder(tree_);
  }
  void TearDown() override {
    FileProcessTest::TearDown();
    if (fs::exists(tree_)) fs::remove_all(tree_);
  }

  static void MakeOpenFolder(const fs::path& folder) {
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::all);
  }
  static void MakeFile(const fs::path& file, std::size_t size = 1) {
    std::ofstream(file) << std::string(size, 'x');
    fs::permissions(file, static_cast<fs::perms>(0644));
  }
  static void SetWritten(const fs::path& file, absl::Time time) {
    const timespec times[] = {absl::ToTimespec(time), absl::ToTimespec(time)};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

  absl::StatusOr<MeasuredTree> Measure(std::string_view path,
                                       absl::Duration patience = absl::Seconds(60)) {
    return runner_.Await(process_->Measure(volume_, Path(path), patience));
  }
  absl::StatusOr<std::int64_t> DeleteUnchanged(std::string_view path, absl::Time since) {
    return runner_.Await(process_->DeleteUnchanged(volume_, Path(path), since));
  }

  const fs::path tree_ = TestVolume().base / "volume" / "race" / "tree";
};

// One folder in the other, made and removed with one descriptor at a time.
UniqueFd DownOf(int folder, bool make) {
  if (make && (::mkdirat(folder, "d", 0777) != 0 || ::fchmodat(folder, "d", 0777, 0) != 0)) {
    return UniqueFd();
  }
  return UniqueFd(::openat(folder, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void MakeChain(const fs::path& top, int levels) {
  UniqueFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    at = DownOf(at.get(), true);
    ASSERT_TRUE(at) << i;
  }
}

UniqueFd BottomOf(const fs::path& top, int levels) {
  UniqueFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) at = DownOf(at.get(), false);
  return at;
}

void RemoveChain(const fs::path& top, int levels) {
  UniqueFd at = BottomOf(top, levels);
  for (int i = 0; i < levels; ++i) {
    at.Reset(::openat(at.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::unlinkat(at.get(), "d", AT_REMOVEDIR), 0) << i;
  }
}

TEST_F(MeasurementTest, CountsWhatIsThereAndFollowsNoLink) {
  MakeFile(tree_ / "a", 100'000);
  MakeOpenFolder(tree_ / "in");
  MakeFile(tree_ / "in" / "b");
  fs::create_hard_link(tree_ / "a", tree_ / "in" / "a-again");
  fs::create_symlink("/usr", tree_ / "usr");
  fs::create_symlink("..", tree_ / "in" / "round");
  ASSERT_EQ(::mkfifo((tree_ / "fifo").c_str(), 0644), 0);
  const auto measured = Measure("race/tree");
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->missing, "");
  EXPECT_EQ(measured->inodes, 8);
  EXPECT_GE(measured->bytes, 100'000);
  // Not each name of the one file for itself.
  EXPECT_LT(measured->bytes, 170'000);
  EXPECT_LT(absl::AbsDuration(absl::Now() - measured->newest), absl::Minutes(5));
  EXPECT_EQ(Measure("race/tree/in/b")->inodes, 1);
  EXPECT_EQ(Measure("race/tree/usr")->inodes, 1);
  EXPECT_TRUE(absl::IsNotFound(Measure("race/tree/none").status()));
}

// What was just unpacked has the times of its archive.
TEST_F(MeasurementTest, AnOldTimeOfWritingMakesNothingOldAndAFutureOneNothingNew) {
  MakeFile(tree_ / "unpacked");
  SetWritten(tree_ / "unpacked", absl::FromUnixSeconds(1'000'000'000));
  EXPECT_LT(absl::Now() - Measure("race/tree/unpacked")->newest, absl::Minutes(5));
  SetWritten(tree_ / "unpacked", absl::FromUnixSeconds(4'000'000'000));
  EXPECT_LE(Measure("race/tree/unpacked")->newest, absl::Now());
}

TEST_F(MeasurementTest, TenThousandLevelsAreMeasured) {
  constexpr int kLevels = 10'000;
  MakeChain(tree_, kLevels);
  const auto measured = Measure("race/tree");
  RemoveChain(tree_, kLevels);
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->missing, "");
  EXPECT_EQ(measured->inodes, kLevels + 1);
}

// No path is that long, so nobody could ask for what is at its bottom.
TEST_F(MeasurementTest, OfFoldersDeeperThanAPathIsLongThoseThatHaveOneAreListed) {
  constexpr int kLevels = 2'500;
  MakeChain(tree_, kLevels);
  FileQuery query{
      .path = Path("race/tree"), .pattern = *Glob::Parse("**"), .limit = 10'000, .after = ""};
  const auto listed = runner_.Await(SearchFiles(*process_, volume_, std::move(query)));
  RemoveChain(tree_, kLevels);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_TRUE(listed->truncated);
  EXPECT_GT(listed->files.size(), 1'000u);
}

// The kernel opens paths of 4,095 bytes: what is longer is left out, and said to be, on every page.
TEST_F(MeasurementTest, AFileWhosePathNobodyCanAskForIsLeftOutOfTheListAndSaidToBe) {
  constexpr int kLevels = 2'000;
  MakeChain(tree_, kLevels);
  std::string folder = "race/tree";
  for (int i = 0; i < kLevels; ++i) folder += "/d";
  const std::string longest(kMaxPathBytes - 1 - folder.size() - 1, 'x');
  const UniqueFd bottom = BottomOf(tree_, kLevels);
  for (const std::string& name : {longest, longest + 'x'}) {
    EXPECT_TRUE(UniqueFd(::openat(bottom.get(), name.c_str(), O_CREAT | O_CLOEXEC, 0644))) << name;
  }
  FileQuery query{.path = Path(folder), .pattern = *Glob::Parse(""), .limit = 10'000, .after = ""};
  const auto listed = runner_.Await(SearchFiles(*process_, volume_, query));
  query.after = StrCat(folder, "/", longest);
  const auto opened = Open(query.after);
  query.after += 'x';
  const auto behind = runner_.Await(SearchFiles(*process_, volume_, query));
  for (const std::string& name : {longest, longest + 'x'}) {
    ::unlinkat(bottom.get(), name.c_str(), 0);
  }
  RemoveChain(tree_, kLevels);
  ASSERT_TRUE(listed.ok() && behind.ok()) << listed.status() << behind.status();
  ASSERT_EQ(listed->files.size(), 1u);
  EXPECT_EQ(listed->files.front().path, StrCat(folder, "/", longest));
  EXPECT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(listed->truncated);
  EXPECT_TRUE(behind->files.empty());
  EXPECT_TRUE(behind->truncated);
}

TEST_F(MeasurementTest, AWideFolderIsReadOnFromWhereItWasLeftForTheDeepOneInIt) {
  constexpr int kLevels = 200;
  for (int i = 0; i < 2000; ++i) MakeFile(tree_ / StrCat("f", i), 0);
  MakeChain(tree_, kLevels);
  const auto measured = Measure("race/tree");
  RemoveChain(tree_, kLevels);
  EXPECT_EQ(measured->missing, "");
  EXPECT_EQ(measured->inodes, 2001 + kLevels);
}

TEST_F(MeasurementTest, SaysWhatItCouldNotLookAt) {
  MakeOpenFolder(tree_ / "closed");
  MakeFile(tree_ / "closed" / "f");
  // The file process has no rights over what the agent's user keeps to itself.
  fs::permissions(tree_ / "closed", static_cast<fs::perms>(0700));
  const auto measured = Measure("race/tree");
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->missing, "1 of its entries couldn't be looked at");
  EXPECT_EQ(measured->inodes, 2);
}

TEST_F(MeasurementTest, EntersNoOtherMount) {
  folder_ = "/";
  const auto measured = Measure("proc");
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->missing, "something else is mounted in it");
  EXPECT_EQ(measured->inodes, 0);
}

TEST_F(MeasurementTest, GivesUpWhenPatienceIsOverAndKeepsNothing) {
  for (int i = 0; i < 12'000; ++i) MakeFile(tree_ / StrCat(i), 0);
  for (int i = 0; i < 6; ++i) {
    const auto measured = Measure("race/tree", absl::ZeroDuration());
    ASSERT_TRUE(measured.ok()) << measured.status();
    EXPECT_THAT(measured->missing, HasSubstr("more in it than can be looked at"));
  }
  EXPECT_EQ(Measure("race/tree")->inodes, 12'001);
}

TEST_F(MeasurementTest, OthersAreServedWhileALongWalkIsUnderWay) {
  for (int i = 0; i < 12'000; ++i) MakeFile(tree_ / StrCat(i), 0);
  auto walk = runner_.Begin(process_->Measure(volume_, Path("race/tree"), absl::Seconds(60)));
  EXPECT_EQ(Contents("plain.txt"), "hello");
  EXPECT_EQ(walk.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(walk.get()->inodes, 12'001);
}

// Who comes back up must not come out elsewhere.
TEST_F(MeasurementTest, AFolderThatIsMovedWhileTheWalkIsBelowItEndsIt) {
  constexpr int kLevels = 100;
  MakeChain(tree_, kLevels);
  fs::path middle = tree_;
  for (int i = 0; i < 20; ++i) middle /= "d";
  const UniqueFd volume(::open((TestVolume().base / "volume").c_str(), O_PATH | O_CLOEXEC));
  Measurement walk;
  ASSERT_EQ(walk.Begin(volume.get(), "race/tree"), 0);
  while (walk.measures().inodes < 90) ASSERT_FALSE(walk.GoOn(kAtOnce));
  fs::rename(middle, tree_ / "moved");
  while (!walk.GoOn(kAtOnce)) continue;
  EXPECT_GT(walk.measures().unread, 0);
}

TEST_F(MeasurementTest, WhatChangedSinceIsNotDeleted) {
  MakeOpenFolder(tree_ / "old");
  for (int i = 0; i < 1200; ++i) MakeFile(tree_ / "old" / StrCat(i), 0);
  const absl::Time before = absl::Now() - absl::Hours(1);
  EXPECT_TRUE(absl::IsUnavailable(DeleteUnchanged("race/tree/old", before).status()));
  EXPECT_TRUE(absl::IsUnavailable(DeleteUnchanged("race/tree/old/7", before).status()));
  EXPECT_EQ(Measure("race/tree/old")->inodes, 1201);
  // In several turns, each of which changes the folder.
  EXPECT_EQ(*DeleteUnchanged("race/tree/old", absl::Now()), 1201);
}

TEST_F(MeasurementTest, ANewFileInAnOldFolderKeepsWhatIsLeftOfIt) {
  MakeOpenFolder(tree_ / "old");
  MakeFile(tree_ / "old" / "f");
  const absl::Time then = Measure("race/tree/old")->newest;
  MakeOpenFolder(tree_ / "old" / "new");
  // The kernel's clock for files goes in steps of some milliseconds.
  while (Measure("race/tree/old")->newest <= then) {
    fs::permissions(tree_ / "old" / "new", fs::perms::all);
  }
  EXPECT_TRUE(absl::IsUnavailable(DeleteUnchanged("race/tree/old", then).status()));
  EXPECT_TRUE(fs::exists(tree_ / "old" / "f"));
  EXPECT_TRUE(fs::exists(tree_ / "old" / "new"));
}

}  // namespace
}  // namespace sandkeep
