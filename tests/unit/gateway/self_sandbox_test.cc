// The real confinement, in a child for each thing that it forbids. All of it is tried as whoever
// runs the tests, root too: what is refused here isn't refused by a file's mode.
#include "gateway/self_sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <thread>

#include "common/frame_socket.h"
#include "common/opened_file.h"
#include "common/sanitizers.h"
#include "common/strings.h"
#include "common/unique_fd.h"
#include "gateway/store/database.h"

namespace sandkeep {
namespace {

// What the child ends with.
constexpr int kWentOn = 0;
constexpr int kNotConfined = 2;
constexpr int kFailed = 3;

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* Plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

class SelfSandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "no process is confined under a sanitizer";
    std::string pattern = testing::TempDir() + "sandkeep-confined-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    reach_.written = {folder_ + "/state"};
    std::filesystem::create_directory(folder_ + "/state");
    std::ofstream(folder_ + "/others") << "a secret";
    listening_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in any = Loopback(0);
    ASSERT_EQ(::bind(listening_.get(), Plain(any), sizeof(any)), 0);
    ASSERT_EQ(::listen(listening_.get(), 8), 0);
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    ASSERT_EQ(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
    port_ = ntohs(bound.sin_port);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // In the child.
  void BeConfined() const {
    if (!GiveUpPrivileges().ok() || !Confine(reach_).ok()) ::_exit(kNotConfined);
  }
  // Ends the child with whether opening fails as Landlock makes it fail.
  [[noreturn]] void ExpectRefused(const std::string& path, int flags) const {
    BeConfined();
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    ::_exit(fd < 0 && errno == EACCES ? kWentOn : kFailed);
  }

  std::string folder_;
  Reach reach_;
  UniqueFd listening_;
  std::uint16_t port_ = 0;
};

const auto kKilled = testing::KilledBySignal(SIGSYS);
const auto kFine = testing::ExitedWithCode(kWentOn);

struct Forbidden {
  const char* name;
  void (*attempt)();
};

void PrintTo(const Forbidden& forbidden, std::ostream* out) { *out << forbidden.name; }

class ForbiddenCallTest : public SelfSandboxTest, public testing::WithParamInterface<Forbidden> {};

TEST_P(ForbiddenCallTest, EndsTheProcess) {
  const auto attempt = [this] {
    BeConfined();
    GetParam().attempt();
    ::_exit(kWentOn);
  };
  EXPECT_EXIT(attempt(), kKilled, "");
}

void* Page(int protection) {
  return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

constexpr Forbidden kForbidden[] = {
    {"Execve", [] { ::execl("/bin/true", "true", nullptr); }},
    {"Execveat", [] { ::syscall(SYS_execveat, AT_FDCWD, "/bin/true", nullptr, nullptr, 0); }},
    {"Fork", [] { ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }},
    {"Vfork", [] { ::syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0); }},
    {"TcpSocket", [] { ::socket(AF_INET, SOCK_STREAM, 0); }},
    {"Tcp6Socket", [] { ::socket(AF_INET6, SOCK_STREAM, 0); }},
    {"Netlink", [] { ::socket(AF_NETLINK, SOCK_RAW, 0); }},
    {"Bind", [] { ::bind(0, nullptr, 0); }},
    {"Listen", [] { ::listen(0, 1); }},
    {"Ptrace", [] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"ReadOtherMemory", [] { ::syscall(SYS_process_vm_readv, ::getppid(), 0, 0, 0, 0, 0); }},
    {"TakeDescriptor", [] { ::syscall(SYS_pidfd_getfd, 0, 0, 0); }},
    {"OpenProcess", [] { ::syscall(SYS_pidfd_open, ::getppid(), 0); }},
    {"Kill", [] { ::kill(::getppid(), 0); }},
    {"KillThreadOfAnother", [] { ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }},
    {"ExecutableMemory", [] { Page(PROT_READ | PROT_EXEC); }},
    {"MemoryMadeExecutable", [] { ::mprotect(Page(PROT_READ), 4096, PROT_READ | PROT_EXEC); }},
    {"BecomeDumpable", [] { ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }},
    {"Limits", [] { ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, nullptr, nullptr); }},
    {"BecomeAnother", [] { ::syscall(SYS_setuid, 0); }},
    {"Mount", [] { ::syscall(SYS_mount, "/", "/", 0, 0, 0); }},
    {"Namespace", [] { ::syscall(SYS_unshare, CLONE_NEWUSER); }},
    {"IoUring", [] { ::syscall(SYS_io_uring_setup, 1, nullptr); }},
    {"Bpf", [] { ::syscall(SYS_bpf, 0, nullptr, 0); }},
    {"Keys", [] { ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
    {"MemoryFile", [] { ::syscall(SYS_memfd_create, "x", 0); }},
    {"Symlink", [] { ::syscall(SYS_symlinkat, "/etc", AT_FDCWD, "x"); }},
    {"ControlTerminal", [] { ::syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x"); }},
};

INSTANTIATE_TEST_SUITE_P(All, ForbiddenCallTest, testing::ValuesIn(kForbidden),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(SelfSandboxTest, LeavesNothingToACoreFileOrATracer) {
  const auto look = [] {
    rlimit core{1, 1};
    const bool hidden = GiveUpPrivileges().ok() && ::getrlimit(RLIMIT_CORE, &core) == 0 &&
                        core.rlim_max == 0 && ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
                        ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    ::_exit(hidden ? kWentOn : kFailed);
  };
  EXPECT_EXIT(look(), kFine, "");
}

class PathsTest : public SelfSandboxTest {
 protected:
  void SetUp() override {
    SelfSandboxTest::SetUp();
    if (!IsSkipped() && LandlockVersion() < 3) GTEST_SKIP() << "a kernel without Landlock 3";
  }
};

TEST_F(PathsTest, RefusesTheFilesOfOthers) {
  EXPECT_EXIT(ExpectRefused("/etc/shadow", O_RDONLY), kFine, "");
  EXPECT_EXIT(ExpectRefused("/etc/passwd", O_RDONLY), kFine, "");
  EXPECT_EXIT(ExpectRefused("/proc/self/environ", O_RDONLY), kFine, "");
  EXPECT_EXIT(ExpectRefused("/dev/null", O_WRONLY), kFine, "");
  EXPECT_EXIT(ExpectRefused(folder_ + "/others", O_RDONLY), kFine, "");
  EXPECT_EXIT(ExpectRefused(folder_ + "/new", O_WRONLY | O_CREAT), kFine, "");
}

TEST_F(PathsTest, RefusesTheWayOutOfItsFolder) {
  std::filesystem::create_symlink(folder_ + "/others", folder_ + "/state/link");
  EXPECT_EXIT(ExpectRefused(folder_ + "/state/link", O_RDONLY), kFine, "");
  EXPECT_EXIT(ExpectRefused(folder_ + "/state/../others", O_RDONLY), kFine, "");
}

TEST_F(PathsTest, ReadsButDoesNotWriteWhatIsNamedForReading) {
  reach_.read = {folder_ + "/others", folder_ + "/absent"};
  EXPECT_EXIT(ExpectRefused(folder_ + "/others", O_WRONLY), kFine, "");
  const auto read = [this] {
    BeConfined();
    ::_exit(::open((folder_ + "/others").c_str(), O_RDONLY | O_CLOEXEC) >= 0 ? kWentOn : kFailed);
  };
  EXPECT_EXIT(read(), kFine, "");
}

// Where the folder is given by a symbolic link, the rule is for what it leads to.
TEST_F(PathsTest, TheFolderMayBeALink) {
  std::filesystem::create_directory_symlink(folder_ + "/state", folder_ + "/alias");
  reach_.written = {folder_ + "/alias"};
  const auto write = [this] {
    BeConfined();
    const std::string path = folder_ + "/alias/new";
    ::_exit(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0 ? kWentOn : kFailed);
  };
  EXPECT_EXIT(write(), kFine, "");
}

TEST_F(PathsTest, AFolderThatIsMissingIsSaid) {
  reach_.written = {folder_ + "/absent"};
  const auto look = [this] { ::_exit(RestrictReach(reach_).ok() ? kFailed : kWentOn); };
  EXPECT_EXIT(look(), kFine, "");
}

TEST_F(SelfSandboxTest, TheDatabaseIsMadeMigratedAndWritten) {
  const auto work = [this] {
    BeConfined();
    absl::StatusOr<Database> db = OpenGatewayDatabase(reach_.written.front());
    if (!db.ok()) ::_exit(kFailed);
    absl::StatusOr<Statement> fold = db->Prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    ::_exit(fold.ok() && fold->Step().ok() ? kWentOn : kFailed);
  };
  EXPECT_EXIT(work(), kFine, "");
}

TEST_F(SelfSandboxTest, ThreadsStartAndAbortStillAborts) {
  const auto start = [this] {
    BeConfined();
    std::thread([] {}).join();
    std::abort();
  };
  EXPECT_EXIT(start(), testing::KilledBySignal(SIGABRT), "");
}

TEST_F(SelfSandboxTest, ServesConnectionsAndTheAgentsSocket) {
  const std::string path = folder_ + "/agent.sock";
  sockaddr_un agent{};
  agent.sun_family = AF_UNIX;
  std::strncpy(agent.sun_path, path.c_str(), sizeof(agent.sun_path) - 1);
  const UniqueFd agents(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(agents.get(), reinterpret_cast<const sockaddr*>(&agent), sizeof(agent)), 0);
  ASSERT_EQ(::listen(agents.get(), 1), 0);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = Loopback(port_);
  ASSERT_EQ(::connect(client.get(), Plain(to), sizeof(to)), 0);

  const auto serve = [&] {
    BeConfined();
    const int accepted = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    const int upstream = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool served =
        ::send(accepted, "x", 1, 0) == 1 &&
        ::connect(upstream, reinterpret_cast<const sockaddr*>(&agent), sizeof(agent)) == 0;
    ::_exit(served ? kWentOn : kFailed);
  };
  EXPECT_EXIT(serve(), kFine, "");
}

TEST_F(SelfSandboxTest, SendsAFileThatItWasHandedAndCouldNotOpen) {
  auto ends = FrameSocket::Pair();
  ASSERT_TRUE(ends.ok());
  const UniqueFd others(::open((folder_ + "/others").c_str(), O_RDONLY | O_CLOEXEC));
  const int number = others.get();
  ASSERT_TRUE(ends->first.Send("F", absl::MakeConstSpan(&number, 1)).ok());
  int client[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client), 0);

  const auto send = [&] {
    BeConfined();
    const absl::StatusOr<Frame> frame = ends->second.Receive();
    if (!frame.ok() || frame->descriptors.size() != 1) ::_exit(kFailed);
    const UniqueFd& file = frame->descriptors.front();
    char byte = 0;
    const iovec space{&byte, 1};
    // Whether this file system can answer at once is no matter here.
    const ssize_t at_once = ::preadv2(file.get(), &space, 1, 0, RWF_NOWAIT);
    const int socket = ::fcntl(client[0], F_DUPFD_CLOEXEC, 0);
    const bool sent = IsOpenedAs(file, O_RDONLY, S_IFREG) && (at_once == 1 || errno != EPERM) &&
                      ::sendfile(socket, file.get(), nullptr, 100) == 8;
    ::_exit(sent ? kWentOn : kFailed);
  };
  EXPECT_EXIT(send(), kFine, "");
  ::close(client[0]);
  ::close(client[1]);
}

// A socket that was accepted can be taken off its peer and connected elsewhere: no call for a new
// one is needed, so that the filter of calls doesn't see it.
TEST_F(SelfSandboxTest, AnAcceptedConnectionCannotBeTurnedElsewhere) {
  if (LandlockVersion() < 4) GTEST_SKIP() << "a kernel without Landlock 4";
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = Loopback(port_);
  ASSERT_EQ(::connect(client.get(), Plain(to), sizeof(to)), 0);
  const auto turn = [&] {
    BeConfined();
    const int accepted = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    sockaddr_in nobody{};
    nobody.sin_family = AF_UNSPEC;
    ::connect(accepted, Plain(nobody), sizeof(nobody));
    const bool refused = ::connect(accepted, Plain(to), sizeof(to)) != 0 && errno == EACCES;
    ::_exit(refused ? kWentOn : kFailed);
  };
  EXPECT_EXIT(turn(), kFine, "");
}

TEST_F(SelfSandboxTest, AbstractSocketsOfOthersAreReachedOnlyWhereSystemdHasOne) {
  if (LandlockVersion() < 6) GTEST_SKIP() << "a kernel without Landlock 6";
  const UniqueFd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = StrCat("sandkeep-test-", ::getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listening.get(), plain, size), 0);
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  const auto connect = [&] {
    BeConfined();
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::_exit(::connect(socket, plain, size) == 0 ? kWentOn : errno);
  };
  EXPECT_EXIT(connect(), testing::ExitedWithCode(EPERM), "");
  reach_.abstract_sockets = true;
  EXPECT_EXIT(connect(), kFine, "");
}

}  // namespace
}  // namespace sandkeep
