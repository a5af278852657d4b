// A podman that hangs, floods or leaves children behind must never take the agent with it, and
// nothing of the agent's may leak into what it starts.

#include "agent/runtime/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdlib>

#include "common/limits.h"
#include "common/strings.h"
#include "tests/fakes/await.h"

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class ProcessTest : public testing::Test {
 protected:
  absl::StatusOr<ProcessResult> Run(ProcessCommand command, milliseconds deadline = seconds(30)) {
    return runner_.Await(RunProcess(std::move(command), deadline));
  }
  absl::StatusOr<ProcessResult> Shell(const std::string& script,
                                      milliseconds deadline = seconds(30)) {
    return Run({"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin"}}, deadline);
  }

  AsyncRunner runner_;
};

// Waits for the event: the last process of a group is gone when nobody can be signalled.
bool GroupEnds(pid_t group) {
  for (int tries = 0; tries < 5000; ++tries) {
    if (::kill(-group, 0) != 0) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

// Any child of ours, ended or not.
bool HasChildren() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST_F(ProcessTest, OneWhoseCallerLeftIsReapedAllTheSame) {
  boost::asio::cancellation_signal cancel;
  std::promise<void> over;
  auto done = [&over](const std::exception_ptr&, const absl::StatusOr<ProcessResult>&) {
    over.set_value();
  };
  const auto strand = boost::asio::make_strand(runner_.executor());
  boost::asio::co_spawn(strand, RunProcess({"/bin/sleep", {"0.2"}, {}}, seconds(30)),
                        boost::asio::bind_cancellation_slot(cancel.slot(), std::move(done)));
  while (!HasChildren()) std::this_thread::yield();
  boost::asio::post(strand, [&cancel] { cancel.emit(boost::asio::cancellation_type::terminal); });
  over.get_future().wait();
  for (int tries = 0; tries < 5000 && HasChildren(); ++tries) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_FALSE(HasChildren());
}

TEST_F(ProcessTest, GivesBackOutputErrorAndExitCodeApart) {
  const auto result = Shell("echo out; echo err >&2; exit 3");

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->standard_output, "out\n");
  EXPECT_EQ(result->standard_error, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(result->Summary(), "exit 3: err");
}

TEST_F(ProcessTest, ASignalIsAResult) {
  const auto result = Shell("kill -TERM $$");

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->signal, SIGTERM);
  EXPECT_EQ(result->exit_code, -1);
  EXPECT_FALSE(result->succeeded());
}

TEST_F(ProcessTest, AMissingProgramIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(Run({"/nowhere/podman", {}, {}}).status()));
}

TEST_F(ProcessTest, TheDeadlineKillsTheWholeGroup) {
  const auto result = Shell("sleep 1000 & echo $$; sleep 1000", milliseconds(200));

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->succeeded());
  EXPECT_TRUE(GroupEnds(std::atoi(result->standard_output.c_str())));
}

TEST_F(ProcessTest, DoesNotWaitForSomebodyWhoHoldsTheOutput) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = Shell("sleep 1000 & echo $$");

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20));
  ::kill(-std::atoi(result->standard_output.c_str()), SIGKILL);
}

TEST_F(ProcessTest, AFloodIsCutAndDoesNotBlockTheProgram) {
  const auto result = Shell(StrCat("head -c ", 3 * kMaxEngineOutputBytes, " /dev/zero; exit 7"));

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->standard_output.size(), kMaxEngineOutputBytes);
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->exit_code, 7);
}

TEST_F(ProcessTest, EveryByteThatFitsComesBack) {
  const auto result = Shell("head -c 1000000 /dev/zero | tr '\\0' x");

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->standard_output, std::string(1000000, 'x'));
  EXPECT_FALSE(result->truncated);
}

TEST_F(ProcessTest, NothingOfTheEnvironmentIsInherited) {
  ::setenv("SANDKEEP_SECRET", "hunter2", 1);

  const auto result = Run({"/usr/bin/env", {}, {"A=1", "B=2"}});

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->standard_output, "A=1\nB=2\n");
}

TEST_F(ProcessTest, NoDescriptorOfOursIsInherited) {
  // Without close-on-exec on purpose: a library that forgets it must not matter.
  const UniqueFd careless(::open("/etc/hostname", O_RDONLY));

  const auto result = Shell("ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0");

  ASSERT_TRUE(result.ok()) << result.status();
  // ls has the folder itself open.
  EXPECT_EQ(result->standard_output, "0 1 2 3 /dev/null\n");
}

TEST_F(ProcessTest, StartsWithSignalsAtTheirDefaults) {
  ::signal(SIGPIPE, SIG_IGN);

  const auto result = Shell("grep -E 'SigBlk|SigIgn' /proc/self/status");

  ::signal(SIGPIPE, SIG_DFL);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->standard_output, HasSubstr("SigBlk:\t0000000000000000"));
  // But for the two that the C library keeps for its threads.
  EXPECT_THAT(result->standard_output, ContainsRegex("SigIgn:\t0000000[01][08]0000000\n"));
}

TEST_F(ProcessTest, LeadsAGroupOfItsOwnInTheRootFolder) {
  const auto result = Shell("echo $$; cut -d' ' -f5 /proc/$$/stat; pwd");

  ASSERT_TRUE(result.ok()) << result.status();
  const auto lines = Split(result->standard_output, '\n');
  EXPECT_EQ(lines[0], lines[1]);
  EXPECT_EQ(lines[2], "/");
}

TEST_F(ProcessTest, ManyAtOnceMixNothing) {
  std::vector<std::future<absl::StatusOr<ProcessResult>>> running;
  for (int i = 0; i < 40; ++i) {
    ProcessCommand command{"/bin/sh", {"-c", StrCat("echo ", i, "; exit ", i)}, {}};
    running.push_back(runner_.Begin(RunProcess(std::move(command), seconds(60))));
  }
  for (int i = 0; i < 40; ++i) {
    const auto result = running[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->exit_code, i);
    EXPECT_EQ(result->standard_output, StrCat(i, "\n"));
  }
}

TEST_F(ProcessTest, PassesTheNamedDescriptorsAndNoOther) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const PassedDescriptor passed{theirs.get(), 3};

  auto process = StartProcess({"/bin/sh", {"-c", "echo hello >&3; ls /proc/self/fd >&3"}, {}},
                              absl::MakeConstSpan(&passed, 1));
  ASSERT_TRUE(process.ok()) << process.status();
  theirs.Reset();

  std::string text;
  char chunk[256];
  for (ssize_t size; (size = ::read(ours.get(), chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(size));
  }
  // 4 is the folder that ls reads.
  EXPECT_THAT(text, StartsWith("hello\n0\n1\n2\n3\n4\n"));
  EndProcess(runner_.executor(), *std::move(process));
}

TEST_F(ProcessTest, AnEndedProcessIsReaped) {
  auto process = StartProcess({"/bin/sleep", {"1000"}, {}}, {});
  ASSERT_TRUE(process.ok()) << process.status();
  const pid_t pid = process->pid;

  EndProcess(runner_.executor(), *std::move(process));

  EXPECT_TRUE(GroupEnds(pid));
}

}  // namespace
}  // namespace sandkeep
