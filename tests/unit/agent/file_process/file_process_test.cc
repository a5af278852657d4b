// A sandbox's root made every name below the workspace, and means ill: whatever it puts there, the
// file process hands out regular files of that workspace and nothing else, never hangs, and comes
// back when it is killed.
//
// The folders are made as root, with a foreign uid's files among them; then the program becomes the
// agent's user, as whom the agent runs, and tests the real sandkeep-files.

#include "agent/file_process/file_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "agent/file_process/beneath.h"
#include "common/limits.h"
#include "common/random.h"
#include "common/strings.h"
#include "tests/fakes/await.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kAgentUser[] = "sandkeep";
// Container root's id and another's, both of the subordinate range; see Prepare.
uid_t foreign_root = 0;
uid_t foreign_user = 0;
fs::path base;
std::string skip_reason;
bool has_device = true;

void Write(const fs::path& path, const std::string& text, mode_t mode, uid_t owner) {
  std::ofstream(path, std::ios::binary) << text;
  fs::permissions(path, static_cast<fs::perms>(mode));
  if (::lchown(path.c_str(), owner, owner) != 0) std::abort();
}

void Folder(const fs::path& path, mode_t mode, uid_t owner) {
  fs::create_directory(path);
  fs::permissions(path, static_cast<fs::perms>(mode));
  if (::chown(path.c_str(), owner, owner) != 0) std::abort();
}

void BindSocket(const fs::path& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
}

void MakeVolume(const fs::path& volume, uid_t agent) {
  // Passable, so that the race tests can play the sandbox.
  Folder(volume, 0711, foreign_root);
  Write(volume / "plain.txt", "hello", 0644, foreign_root);
  Write(volume / "locked.bin", "locked", 0000, foreign_user);
  Write(volume / "agents.txt", "the agent's own", 0600, agent);
  Write(volume / "new\nline", "1", 0644, foreign_root);
  Write(volume / "bytes\xff\xfe", "2", 0644, foreign_root);
  Folder(volume / "folder", 0700, foreign_user);
  Write(volume / "folder" / "inner.txt", "inner", 0600, foreign_user);
  fs::create_symlink("plain.txt", volume / "link");
  fs::create_symlink("folder", volume / "folder-link");
  fs::create_symlink("/etc/passwd", volume / "absolute-link");
  fs::create_symlink("../outside/secret", volume / "up-link");
  fs::create_symlink("/proc/self/root", volume / "proc-link");
  fs::create_symlink("/proc/self/fd", volume / "fd-link");
  if (::mkfifo((volume / "fifo").c_str(), 0666) != 0) std::abort();
  if (::mknod((volume / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    std::cerr << "no device could be made: that case is not tried\n";
    has_device = false;
  }
  BindSocket(volume / "socket");
  Write(volume / "sparse", "", 0644, foreign_root);
  fs::resize_file(volume / "sparse", 1ULL << 40);
  Folder(volume / "many", 0755, foreign_root);
  for (int i = 0; i < 600; ++i) {
    Write(volume / "many" / StrCat(std::string(200, 'n'), i), "", 0644, foreign_root);
  }
  // Here the agent's user plays the sandbox, who swaps names while they are opened.
  Folder(volume / "race", 0777, foreign_root);
}

class FileProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!skip_reason.empty()) GTEST_SKIP() << skip_reason;
    FileProcessOptions options;
    options.program = (base / "sandkeep-files").string();
    process_ = MakeFileProcess(runner_.executor(), options, [this](EngineName) {
      ++opened_volumes_;
      return OpenFolder(base / "volume");
    });
  }

  // The closing of the process runs on the runner.
  void TearDown() override { process_.reset(); }

  static Async<UniqueFd> OpenFolder(fs::path folder) {
    UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) co_return absl::NotFoundError("no such volume");
    co_return fd;
  }

  static RelPath Path(std::string_view text) { return *RelPath::Parse(text); }
  absl::StatusOr<OpenedFile> Open(std::string_view path) {
    return runner_.Await(process_->Open(volume_, Path(path)));
  }
  absl::StatusOr<FileEntry> Stat(std::string_view path) {
    return runner_.Await(process_->Stat(volume_, Path(path)));
  }

  static std::string ReadAll(const UniqueFd& file) {
    std::string text(4096, '\0');
    const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  std::string Contents(std::string_view path) {
    const auto opened = Open(path);
    return opened.ok() ? ReadAll(opened->file) : opened.status().ToString();
  }

  static pid_t FilesPid() {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream stat(entry.path() / "stat");
      std::string pid, name, state, parent;
      stat >> pid >> name >> state >> parent;
      if (name == "(sandkeep-files)" && parent == StrCat(::getpid()) && state != "Z") {
        return static_cast<pid_t>(std::atoi(pid.c_str()));
      }
    }
    return 0;
  }

  AsyncRunner runner_;
  std::atomic<int> opened_volumes_ = 0;
  EngineName volume_ = EngineName::Make(SystemRandom());
  std::unique_ptr<FileProcess> process_;
};

TEST_F(FileProcessTest, OpensARegularFileToReadOnly) {
  const auto opened = Open("plain.txt");

  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(ReadAll(opened->file), "hello");
  EXPECT_EQ(::fcntl(opened->file.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_TRUE((::fcntl(opened->file.get(), F_GETFD) & FD_CLOEXEC) != 0);
  EXPECT_EQ(opened->entry.path, "plain.txt");
  EXPECT_EQ(opened->entry.size, 5);
  EXPECT_TRUE(opened->entry.regular());
}

TEST_F(FileProcessTest, OpensWhatEveryUserOfTheSandboxOwnsWhateverTheMode) {
  EXPECT_EQ(Contents("locked.bin"), "locked");
  EXPECT_EQ(Contents("folder/inner.txt"), "inner");
}

TEST_F(FileProcessTest, CannotReadWhatTheAgentOwns) {
  // Its ids don't exist in the file process's namespace.
  EXPECT_TRUE(absl::IsPermissionDenied(Open("agents.txt").status()));
}

TEST_F(FileProcessTest, OpensNamesThatAreNotText) {
  EXPECT_EQ(Contents("new\nline"), "1");
  EXPECT_EQ(Contents("bytes\xff\xfe"), "2");
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
    if (path == std::string_view("null") && !has_device) continue;
    const auto opened = Open(path);
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << path << opened.status();
    EXPECT_THAT(opened.status().ToString(), HasSubstr("not a regular file or folder")) << path;
  }
  EXPECT_THAT(Open("folder").status().ToString(), HasSubstr("is a folder"));
  EXPECT_TRUE(absl::IsInvalidArgument(Open("").status()));
}

TEST_F(FileProcessTest, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(Open("nothing").status()));
  EXPECT_TRUE(absl::IsNotFound(Open("nothing/deeper").status()));
  EXPECT_TRUE(absl::IsNotFound(Open("plain.txt/deeper").status()));
  EXPECT_TRUE(absl::IsNotFound(Stat("nothing").status()));
}

TEST_F(FileProcessTest, StatsFilesFoldersAndTheWorkspaceItself) {
  EXPECT_EQ(Stat("plain.txt")->size, 5);
  EXPECT_TRUE(Stat("folder")->directory());
  EXPECT_TRUE(Stat("")->directory());
  EXPECT_EQ(Stat("sparse")->size, std::int64_t{1} << 40);
}

TEST_F(FileProcessTest, ListsAFolderByName) {
  const auto entries = runner_.Await(process_->List(volume_, Path("folder"), 100));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().path, "folder/inner.txt");
  EXPECT_EQ(entries->front().size, 5);
}

TEST_F(FileProcessTest, AListLongerThanAFrameComesWhole) {
  const auto entries = runner_.Await(process_->List(volume_, Path("many"), 10000));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 600u);
  EXPECT_TRUE(std::is_sorted(entries->begin(), entries->end(),
                             [](const auto& a, const auto& b) { return a.path < b.path; }));
}

TEST_F(FileProcessTest, AListKeepsToItsLimit) {
  EXPECT_EQ(runner_.Await(process_->List(volume_, Path("many"), 7))->size(), 7u);
  EXPECT_EQ(runner_.Await(process_->List(volume_, Path("many"), 0))->size(), 0u);
}

TEST_F(FileProcessTest, TheTagIsTheSameForTheSameFileOnly) {
  EXPECT_EQ(Stat("plain.txt")->Etag(), Open("plain.txt")->entry.Etag());
  EXPECT_EQ(Stat("plain.txt")->Etag().size(), 22u);
  EXPECT_NE(Stat("plain.txt")->Etag(), Stat("sparse")->Etag());
}

TEST_F(FileProcessTest, ManyCallsAtOnceGetTheirOwnAnswers) {
  std::vector<std::future<absl::StatusOr<OpenedFile>>> plain, locked;
  for (int i = 0; i < 300; ++i) {
    plain.push_back(runner_.Begin(process_->Open(volume_, Path("plain.txt"))));
    locked.push_back(runner_.Begin(process_->Open(volume_, Path("locked.bin"))));
  }
  for (auto& call : plain) EXPECT_EQ(ReadAll(call.get()->file), "hello");
  for (auto& call : locked) EXPECT_EQ(ReadAll(call.get()->file), "locked");
}

TEST_F(FileProcessTest, AMissingVolumeIsItsOpenersError) {
  FileProcessOptions options;
  options.program = (base / "sandkeep-files").string();
  auto process = MakeFileProcess(runner_.executor(), options,
                                 [](EngineName) { return OpenFolder(base / "no-volume"); });
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(process->Open(volume_, Path("x"))).status()));
}

TEST_F(FileProcessTest, AMissingProgramSaysWhatToDo) {
  FileProcessOptions options;
  options.program = "/nowhere/sandkeep-files";
  auto process = MakeFileProcess(runner_.executor(), options,
                                 [](EngineName) { return OpenFolder(base / "volume"); });
  const auto opened = runner_.Await(process->Open(volume_, Path("plain.txt")));
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
  EXPECT_THAT(opened.status().ToString(), HasSubstr("FILES_PATH"));
}

TEST_F(FileProcessTest, APathThatChangesWhileItIsOpenedNeverLeadsOut) {
  const fs::path race = base / "volume" / "race";
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
  const fs::path race = base / "volume" / "race";
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

TEST_F(FileProcessTest, IsStartedAgainWhenItIsKilled) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  for (int i = 0; i < 5; ++i) {
    const pid_t pid = FilesPid();
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    // Whether or not its death was noticed in time for this call.
    const auto during = Open("plain.txt");
    EXPECT_TRUE(during.ok() || absl::IsUnavailable(during.status())) << during.status();
    EXPECT_EQ(Contents("plain.txt"), "hello");
    EXPECT_NE(FilesPid(), pid);
  }
}

TEST_F(FileProcessTest, KilledUnderLoadEveryCallEndsAndTheNextWorks) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  std::vector<std::future<absl::StatusOr<OpenedFile>>> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(runner_.Begin(process_->Open(volume_, Path("plain.txt"))));
    if (i == 100) ::kill(FilesPid(), SIGKILL);
  }
  for (auto& call : calls) {
    const auto opened = call.get();
    EXPECT_TRUE(opened.ok() || absl::IsUnavailable(opened.status())) << opened.status();
  }
  EXPECT_EQ(Contents("plain.txt"), "hello");
}

TEST_F(FileProcessTest, AsksForAVolumeOnceAndAgainAfterItIsDropped) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  ASSERT_EQ(Contents("locked.bin"), "locked");
  EXPECT_EQ(opened_volumes_, 1);
  process_->Drop(volume_);
  ASSERT_EQ(Contents("plain.txt"), "hello");
  EXPECT_EQ(opened_volumes_, 2);
}

TEST_F(FileProcessTest, ServesMoreVolumesThanItHoldsAtOnce) {
  for (std::size_t i = 0; i < kMaxFileProcessVolumes + 20; ++i) {
    const EngineName volume = EngineName::Make(SystemRandom());
    ASSERT_TRUE(runner_.Await(process_->Stat(volume, Path("plain.txt"))).ok());
  }
  EXPECT_EQ(Contents("plain.txt"), "hello");
}

TEST_F(FileProcessTest, RunsWithOneCapabilityAndAFilter) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  std::ifstream status(StrCat("/proc/", FilesPid(), "/status"));
  const std::string text((std::istreambuf_iterator<char>(status)), {});
  // CAP_DAC_READ_SEARCH is bit 2.
  EXPECT_THAT(text, HasSubstr("CapEff:\t0000000000000004"));
  EXPECT_THAT(text, HasSubstr("CapPrm:\t0000000000000004"));
  EXPECT_THAT(text, HasSubstr("CapBnd:\t0000000000000004"));
  EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(text, HasSubstr(StrCat("Uid:\t", foreign_root, "\t", foreign_root)));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_THAT(text, HasSubstr("Seccomp:\t2"));
#endif
}

// What the agent's own check of paths would never let through: the kernel's walk holds too.
TEST(BeneathTest, NoPathLeadsOutOfTheFolder) {
  if (!skip_reason.empty()) GTEST_SKIP() << skip_reason;
  const UniqueFd folder(::open((base / "outside").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
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

bool BecomeAgent() {
  const passwd* user = ::getpwnam(kAgentUser);
  if (user == nullptr) return false;
  return ::initgroups(kAgentUser, user->pw_gid) == 0 &&
         ::setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
         ::setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0;
}

// The first id of the agent's range; 0: it has none.
uid_t SubordinateStart() {
  std::ifstream file("/etc/subuid");
  for (std::string line; std::getline(file, line);) {
    const auto fields = Split(line, ':');
    if (fields.size() == 3 && fields[0] == kAgentUser) {
      return static_cast<uid_t>(std::atoi(std::string(fields[1]).c_str()));
    }
  }
  return 0;
}

// Why the file process can't be tried; empty: all is made.
std::string Prepare(const char* executable) {
  if (::geteuid() != 0) return "it takes root to make files of other users";
  const passwd* user = ::getpwnam(kAgentUser);
  foreign_root = SubordinateStart();
  foreign_user = foreign_root + 999;
  if (user == nullptr || foreign_root == 0) return "there is no user sandkeep with subordinate ids";
  char folder[] = "/tmp/sandkeep-files-test.XXXXXX";
  if (::mkdtemp(folder) == nullptr) return "no temporary folder";
  base = folder;
  fs::permissions(base, static_cast<fs::perms>(0711));
  fs::copy_file(executable, base / "sandkeep-files");
  fs::permissions(base / "sandkeep-files", static_cast<fs::perms>(0755));
  Folder(base / "outside", 0755, 0);
  Write(base / "outside" / "secret", "secret", 0644, 0);
  ::umask(0022);
  MakeVolume(base / "volume", user->pw_uid);
  return "";
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sandkeep::skip_reason = sandkeep::Prepare(SANDKEEP_FILES_EXECUTABLE);
  // A process that stays root, to clean up what only root can.
  if (sandkeep::skip_reason.empty()) {
    const pid_t tests = ::fork();
    if (tests != 0) {
      int status = 0;
      ::waitpid(tests, &status, 0);
      std::filesystem::remove_all(sandkeep::base);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    if (!sandkeep::BecomeAgent()) return 1;
  }
  return RUN_ALL_TESTS();
}
