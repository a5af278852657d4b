#include "tests/unit/agent/file_process/test_volume.h"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <iostream>

namespace sandkeep {

TestVolumeFacts& TestVolume() {
  static TestVolumeFacts facts;
  return facts;
}

namespace {

namespace fs = std::filesystem;

constexpr char kAgentUser[] = "sandkeep";

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

// From within its folder: an address has room for short paths only.
void BindSocket(const fs::path& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  const UniqueFd folder(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = StrCat("/proc/self/fd/", folder.get(), "/", path.filename().string());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
}

void MakeVolume(const fs::path& volume, uid_t agent) {
  // Passable, so that the race tests can play the sandbox.
  Folder(volume, 0711, TestVolume().foreign_root);
  Write(volume / "plain.txt", "hello", 0644, TestVolume().foreign_root);
  Write(volume / "locked.bin", "locked", 0000, TestVolume().foreign_user);
  Write(volume / "agents.txt", "the agent's own", 0600, agent);
  Write(volume / "new\nline", "1", 0644, TestVolume().foreign_root);
  Write(volume / "bytes\xff\xfe", "2", 0644, TestVolume().foreign_root);
  Folder(volume / "folder", 0700, TestVolume().foreign_user);
  Write(volume / "folder" / "inner.txt", "inner", 0600, TestVolume().foreign_user);
  fs::create_symlink("plain.txt", volume / "link");
  fs::create_symlink("folder", volume / "folder-link");
  fs::create_symlink("/etc/passwd", volume / "absolute-link");
  fs::create_symlink("../outside/secret", volume / "up-link");
  fs::create_symlink("/proc/self/root", volume / "proc-link");
  fs::create_symlink("/proc/self/fd", volume / "fd-link");
  if (::mkfifo((volume / "fifo").c_str(), 0666) != 0) std::abort();
  if (::mknod((volume / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    std::cerr << "no device could be made: that case is not tried\n";
    TestVolume().has_device = false;
  }
  BindSocket(volume / "socket");
  Write(volume / "sparse", "", 0644, TestVolume().foreign_root);
  fs::resize_file(volume / "sparse", 1ULL << 40);
  Folder(volume / "many", 0755, TestVolume().foreign_root);
  for (int i = 0; i < 600; ++i) {
    Write(volume / "many" / StrCat(std::string(200, 'n'), i), "", 0644, TestVolume().foreign_root);
  }
  // Here the agent's user plays the sandbox, who swaps names while they are opened.
  Folder(volume / "race", 0777, TestVolume().foreign_root);
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
  TestVolume().foreign_root = SubordinateStart();
  TestVolume().foreign_user = TestVolume().foreign_root + 999;
  if (user == nullptr || TestVolume().foreign_root == 0)
    return "there is no user sandkeep with subordinate ids";
  const char* const parent = std::getenv("TMPDIR");
  std::string folder = StrCat(parent != nullptr ? parent : "/tmp", "/sandkeep-files-test.XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) return "no temporary folder";
  TestVolume().base = folder;
  fs::permissions(TestVolume().base, static_cast<fs::perms>(0711));
  fs::copy_file(executable, TestVolume().base / "sandkeep-files");
  fs::permissions(TestVolume().base / "sandkeep-files", static_cast<fs::perms>(0755));
  // Another volume, as far as rights go: nothing but the walk keeps the file process out of it.
  Folder(TestVolume().base / "outside", 0755, TestVolume().foreign_root);
  Write(TestVolume().base / "outside" / "secret", "secret", 0644, TestVolume().foreign_root);
  ::umask(0022);
  MakeVolume(TestVolume().base / "volume", user->pw_uid);
  return "";
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sandkeep::TestVolume().skip_reason = sandkeep::Prepare(SANDKEEP_FILES_EXECUTABLE);
  // A process that stays root, to clean up what only root can.
  if (sandkeep::TestVolume().skip_reason.empty()) {
    const pid_t tests = ::fork();
    if (tests != 0) {
      int status = 0;
      ::waitpid(tests, &status, 0);
      std::filesystem::remove_all(sandkeep::TestVolume().base);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    if (!sandkeep::BecomeAgent()) return 1;
  }
  return RUN_ALL_TESTS();
}
