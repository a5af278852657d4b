// Files that are written, taken and removed: whole or not at all, the sandbox's root's, and never
// anywhere but where they belong.

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>
#include <vector>

#include "common/part_name.h"
#include "tests/unit/agent/file_process/test_volume.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class WritingTest : public FileProcessTest {
 protected:
  using Pending = std::unique_ptr<PendingFile>;

  static fs::path Root() { return TestVolume().base / "volume"; }

  absl::StatusOr<Pending> Create(std::string_view path, bool parents = false,
                                 std::string part = "") {
    return runner_.Await(process_->Create(volume_, Path(path), parents, std::move(part)));
  }
  absl::StatusOr<FileEntry> Commit(Pending file, TakeTerms terms = {}) {
    auto taken = runner_.Await(file->Commit(std::move(terms)));
    if (!taken.ok()) return taken.status();
    EXPECT_EQ(::fsync(taken->folder.get()), 0);
    return taken->entry;
  }
  static void Put(const PendingFile& file, std::string_view text) {
    EXPECT_EQ(::pwrite(file.file().get(), text.data(), text.size(), file.received()),
              static_cast<ssize_t>(text.size()));
  }
  absl::Status Write(std::string_view path, std::string_view text, bool parents = false) {
    auto file = Create(path, parents);
    if (!file.ok()) return file.status();
    Put(**file, text);
    return Commit(*std::move(file)).status();
  }
  absl::StatusOr<std::int64_t> Delete(std::string_view path, bool recursive = false) {
    return runner_.Await(process_->Delete(volume_, Path(path), recursive));
  }
  std::vector<std::string> Names(std::string_view folder) {
    std::vector<std::string> names;
    auto listed = runner_.Await(process_->List(volume_, Path(folder), 1000));
    if (!listed.ok()) return {listed.status().ToString()};
    for (const FileEntry& entry : *listed) names.push_back(entry.path);
    return names;
  }
};

TEST_F(WritingTest, AFileAppearsWholeAndIsTheSandboxsRoots) {
  ASSERT_EQ(Write("new/deep/a.txt", "first", true), absl::OkStatus());
  EXPECT_EQ(Contents("new/deep/a.txt"), "first");
  const auto entry = Stat("new/deep/a.txt");
  EXPECT_EQ(entry->mode & 07777, 0644u);
  struct stat info{};
  ASSERT_EQ(::stat((Root() / "new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, TestVolume().foreign_root);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  ASSERT_EQ(::stat((Root() / "new/deep/a.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, TestVolume().foreign_root);
  EXPECT_EQ(info.st_gid, TestVolume().foreign_root);
}

TEST_F(WritingTest, NothingIsSeenOfItBefore) {
  auto file = Create("seen/later", true);
  ASSERT_TRUE(file.ok()) << file.status();
  Put(**file, "half");
  EXPECT_TRUE(absl::IsNotFound(Open("seen/later").status()));
  EXPECT_THAT(Names("seen"), IsEmpty());
  file->reset();
  EXPECT_THAT(Names("seen"), IsEmpty());
}

TEST_F(WritingTest, AReplacedFileKeepsItsOwnerAndItsPermissions) {
  ASSERT_EQ(Write("folder/inner.txt", "replaced"), absl::OkStatus());
  EXPECT_EQ(Contents("folder/inner.txt"), "replaced");
  EXPECT_EQ(Stat("folder/inner.txt")->mode & 07777, 0600u);
}

TEST_F(WritingTest, WhoReadsTheOldFileReadsItToItsEnd) {
  ASSERT_EQ(Write("swap/f", "old", true), absl::OkStatus());
  const auto old = Open("swap/f");
  ASSERT_EQ(Write("swap/f", "new content"), absl::OkStatus());
  EXPECT_EQ(ReadAll(old->file), "old");
  EXPECT_EQ(Contents("swap/f"), "new content");
}

TEST_F(WritingTest, OnlyANewFileOrOnlyTheOneThatWasSeen) {
  ASSERT_EQ(Write("terms/f", "1", true), absl::OkStatus());
  TakeTerms fresh;
  fresh.must_be_new = true;
  EXPECT_TRUE(absl::IsAlreadyExists(Commit(*Create("terms/f"), fresh).status()));
  TakeTerms same;
  same.expected = *Stat("terms/f");
  EXPECT_EQ(Commit(*Create("terms/f"), same).status(), absl::OkStatus());
  // It is another one by now.
  EXPECT_TRUE(absl::IsAborted(Commit(*Create("terms/f"), same).status()));
  TakeTerms sized;
  sized.size = 5;
  EXPECT_TRUE(absl::IsAborted(Commit(*Create("terms/f"), sized).status()));
  EXPECT_THAT(Names("terms"), testing::ElementsAre("terms/f"));
}

TEST_F(WritingTest, APartIsFoundAgainAndGoesByItsName) {
  const std::string part(16, 'p');
  {
    auto file = Create("up/f", true, part);
    ASSERT_TRUE(file.ok()) << file.status();
    Put(**file, "one ");
  }
  auto again = Create("up/f", true, part);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->received(), 4);
  Put(**again, "two");
  TakeTerms terms;
  terms.size = 7;
  ASSERT_EQ(Commit(*std::move(again), terms).status(), absl::OkStatus());
  EXPECT_EQ(Contents("up/f"), "one two");
  EXPECT_THAT(Names("up"), testing::ElementsAre("up/f"));

  ASSERT_TRUE(Create("up/g", true, part).ok());
  EXPECT_EQ(Stat(PartPath("up/g", part))->size, 0);
  EXPECT_EQ(*Delete(PartPath("up/g", part)), 1);
  EXPECT_THAT(Names("up"), testing::ElementsAre("up/f"));
}

TEST_F(WritingTest, NoSymlinkIsWrittenThroughAndNoOtherKindReplaced) {
  for (const char* path : {"link", "absolute-link", "up-link", "folder-link/x", "proc-link/etc/x",
                           "fd-link/3", "proc-link"}) {
    const absl::Status written = Write(path, "evil", true);
    EXPECT_TRUE(absl::IsInvalidArgument(written)) << path << written;
    EXPECT_THAT(written.ToString(), HasSubstr("symlink")) << path;
  }
  EXPECT_THAT(Write("fifo", "x").ToString(), HasSubstr("not a regular file"));
  EXPECT_THAT(Write("socket", "x").ToString(), HasSubstr("not a regular file"));
  EXPECT_THAT(Write("folder", "x").ToString(), HasSubstr("is a folder"));
  EXPECT_TRUE(absl::IsNotFound(Write("nowhere/f", "x")));
  EXPECT_TRUE(absl::IsNotFound(Write("plain.txt/f", "x", true)));
  EXPECT_EQ(Contents("plain.txt"), "hello");
  std::ifstream secret(TestVolume().base / "outside" / "secret");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(secret), {}), "secret");
}

TEST_F(WritingTest, AHardLinkElsewhereKeepsWhatItHad) {
  const fs::path race = Root() / "race";
  ASSERT_EQ(Write("race/one", "both"), absl::OkStatus());
  // As the sandbox's root would, by way of a folder that the test may write to.
  std::ofstream(race / "mine") << "both";
  fs::permissions(race / "mine", static_cast<fs::perms>(0666));
  fs::create_hard_link(race / "mine", race / "other");
  ASSERT_EQ(Write("race/mine", "replaced"), absl::OkStatus());
  EXPECT_EQ(Contents("race/mine"), "replaced");
  EXPECT_EQ(Contents("race/other"), "both");
}

// Exchanges two names as fast as it can, as long as it lives.
class Swapper {
 public:
  Swapper(fs::path one, fs::path other)
      : thread_([this, one = std::move(one), other = std::move(other)] {
          while (!stop_) {
            ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(),
                      RENAME_EXCHANGE);
          }
        }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void FolderForAll(const fs::path& path) {
  fs::create_directory(path);
  fs::permissions(path, static_cast<fs::perms>(0777));
}

std::vector<std::string> NamesOutside() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TestVolume().base / "outside")) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST_F(WritingTest, APathThatChangesWhileItIsWrittenNeverLeadsOut) {
  const fs::path race = Root() / "race";
  FolderForAll(race / "wd");
  fs::create_symlink("../../outside", race / "we");
  int written = 0;
  {
    const Swapper swapper(race / "wd", race / "we");
    for (int i = 0; i < 1000; ++i) {
      if (Write("race/wd/f", "mine").ok()) ++written;
      Delete("race/wd/f").IgnoreError();
    }
  }
  EXPECT_GT(written, 0);
  EXPECT_THAT(NamesOutside(), testing::ElementsAre("secret"));
}

TEST_F(WritingTest, ATargetThatBecomesALinkIsNeverWrittenThrough) {
  const fs::path race = Root() / "race";
  ASSERT_EQ(Write("race/target", "mine"), absl::OkStatus());
  fs::create_symlink("../../outside/secret", race / "target-link");
  int written = 0;
  {
    const Swapper swapper(race / "target", race / "target-link");
    for (int i = 0; i < 1000; ++i) {
      if (Write("race/target", "mine").ok()) ++written;
    }
  }
  EXPECT_GT(written, 0);
  std::ifstream secret(TestVolume().base / "outside" / "secret");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(secret), {}), "secret");
}

TEST_F(WritingTest, AFolderThatBecomesALinkIsNeverEmptiedThrough) {
  const fs::path race = Root() / "race";
  fs::create_symlink("../../outside", race / "out");
  for (int i = 0; i < 300; ++i) {
    FolderForAll(race / "t");
    FolderForAll(race / "t" / "sub");
    std::ofstream(race / "t" / "sub" / "x") << "x";
    {
      const Swapper swapper(race / "t" / "sub", race / "out");
      Delete("race/t", true).IgnoreError();
    }
    fs::remove_all(race / "t");
    if (!fs::is_symlink(race / "out")) {
      fs::remove_all(race / "out");
      fs::create_symlink("../../outside", race / "out");
    }
  }
  EXPECT_THAT(NamesOutside(), testing::ElementsAre("secret"));
}

TEST_F(WritingTest, AFolderGoesWithAllThatIsInItAndLinksGoThemselves) {
  for (const char* path : {"tree/a/1", "tree/a/b/2", "tree/c/3"}) {
    ASSERT_EQ(Write(path, "x", true), absl::OkStatus());
  }
  EXPECT_THAT(Delete("tree").status().ToString(), HasSubstr("is a folder"));
  const auto removed = Delete("tree", true);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(*removed, 7);
  EXPECT_TRUE(absl::IsNotFound(Stat("tree").status()));
  EXPECT_TRUE(absl::IsNotFound(Delete("tree", true).status()));
}

TEST_F(WritingTest, MoreThanOneTurnsWorthIsRemovedAll) {
  // 600 of them, and a turn takes 500.
  const auto removed = Delete("many", true);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(*removed, 601);
}

TEST_F(WritingTest, AnybodysFileOfTheSandboxCanBeRemovedAndALinkGoesItself) {
  EXPECT_EQ(*Delete("locked.bin"), 1);
  EXPECT_EQ(*Delete("up-link"), 1);
  EXPECT_EQ(*Delete("folder-link"), 1);
  EXPECT_EQ(*Delete("fifo"), 1);
  EXPECT_FALSE(Delete("").ok());
  EXPECT_THAT(NamesOutside(), testing::ElementsAre("secret"));
  EXPECT_TRUE(Stat("folder").ok());
}

}  // namespace
}  // namespace sandkeep
