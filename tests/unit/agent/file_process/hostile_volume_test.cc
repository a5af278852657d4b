// A sandbox's root made every name below the workspace, and means ill: whatever it puts there, the
// file process hands out regular files of that workspace and nothing else, and never hangs.

#include <gmock/gmock.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <thread>

#include "agent/file_process/beneath.h"
#include "tests/unit/agent/file_process/test_volume.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(FileProcessTest, CannotReadWhatTheAgentOwns) {
  // Its ids don't exist in the file process's namespace.
  EXPECT_TRUE(absl::IsPermissionDenied(Open("agents.txt").status()));
}

TEST_F(FileProcessTest, FollowsNoSymlinkAnywhere) {
  for (const char* path : {"link", "absolute-link", "up-link", "proc-link", "fd-link",
                           "folder-link/inner.txt", "proc-link/etc/passwd", "fd-link/3"}) {
    const auto opened = Open(path);
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << path << opened.status();
    EXPECT_THAT(opened.status().ToString(), HasSubstr("symlink")) << path;
    EXPECT_TRUE(absl::IsInvalidArgument(Stat(path).status())) << path;
  }
}

TEST_F(FileProcessTest, RefusesEveryKindButRegularFiles) {
  for (const char* path : {"fifo", "socket", "null"}) {
    if (path == std::string_view("null") && !TestVolume().has_device) continue;
    const auto opened = Open(path);
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << path << opened.status();
    EXPECT_THAT(opened.status().ToString(), HasSubstr("not a regular file or folder")) << path;
  }
  EXPECT_THAT(Open("folder").status().ToString(), HasSubstr("is a folder"));
  EXPECT_TRUE(absl::IsInvalidArgument(Open("").status()));
}

TEST_F(FileProcessTest, APathThatChangesWhileItIsOpenedNeverLeadsOut) {
  const fs::path race = TestVolume().base / "volume" / "race";
  fs::remove_all(race / "d");
  fs::remove_all(race / "e");
  fs::create_directory(race / "d");
  std::ofstream(race / "d" / "f") << "inside";
  fs::permissions(race / "d" / "f", static_cast<fs::perms>(0644));
  fs::create_symlink("../../outside", race / "e");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      ::syscall(SYS_renameat2, AT_FDCWD, (race / "d").c_str(), AT_FDCWD, (race / "e").c_str(),
                RENAME_EXCHANGE);
    }
  });
  int opened = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto file = Open("race/d/f");
    if (!file.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(file.status()) || absl::IsUnavailable(file.status()))
          << file.status();
      continue;
    }
    ++opened;
    ASSERT_EQ(ReadAll(file->file), "inside");
  }
  stop = true;
  swapper.join();
  EXPECT_GT(opened, 0);
}

TEST_F(FileProcessTest, AFileThatBecomesAFifoNeverBlocksTheProcess) {
  const fs::path race = TestVolume().base / "volume" / "race";
  fs::remove(race / "x");
  fs::remove(race / "y");
  std::ofstream(race / "x") << "inside";
  fs::permissions(race / "x", static_cast<fs::perms>(0644));
  ASSERT_EQ(::mkfifo((race / "y").c_str(), 0666), 0);
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      ::syscall(SYS_renameat2, AT_FDCWD, (race / "x").c_str(), AT_FDCWD, (race / "y").c_str(),
                RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const auto file = Open("race/x");
    EXPECT_TRUE(!file.ok() || ReadAll(file->file) == "inside");
  }
  stop = true;
  swapper.join();
  EXPECT_EQ(Contents("plain.txt"), "hello");
}

TEST_F(FileProcessTest, RunsWithTheRightsOverFilesAndAFilter) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  std::ifstream status(StrCat("/proc/", FilesPid(), "/status"));
  const std::string text((std::istreambuf_iterator<char>(status)), {});
  // CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER.
  EXPECT_THAT(text, HasSubstr("CapEff:\t000000000000000f"));
  EXPECT_THAT(text, HasSubstr("CapPrm:\t000000000000000f"));
  EXPECT_THAT(text, HasSubstr("CapBnd:\t000000000000000f"));
  EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(text, HasSubstr(StrCat("Uid:\t", TestVolume().foreign_root, "\t",
                                     TestVolume().foreign_root)));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_THAT(text, HasSubstr("Seccomp:\t2"));
#endif
}

// What the agent's own check of paths would never let through: the kernel's walk holds too.
TEST(BeneathTest, NoPathLeadsOutOfTheFolder) {
  if (!TestVolume().skip_reason.empty()) GTEST_SKIP() << TestVolume().skip_reason;
  const UniqueFd folder(
      ::open((TestVolume().base / "outside").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(folder);
  EXPECT_EQ(OpenBeneath(folder.get(), "secret").error, 0);
  for (const char* path : {"..", "../outside/secret", "/etc/passwd", "/", "./../outside/secret"}) {
    EXPECT_EQ(OpenBeneath(folder.get(), path).error, EXDEV) << path;
    EXPECT_EQ(LocateBeneath(folder.get(), path).error, EXDEV) << path;
  }
  EXPECT_EQ(OpenBeneath(folder.get(), std::string("secret\0x", 8)).error, EINVAL);
  EXPECT_EQ(OpenBeneath(folder.get(), std::string(5000, 'x')).error, ENAMETOOLONG);
}

TEST(BeneathTest, NoOtherMountIsEntered) {
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(LocateBeneath(root.get(), "proc/version").error, EXDEV);
}

}  // namespace
}  // namespace sandkeep
