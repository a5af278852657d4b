// The shell that stands by: nobody can tell it from one made for the command, and whatever becomes
// of it, the next command runs.

#include <signal.h>

#include <thread>

#include "tests/fakes/patience.h"
#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

// What only the text of a shell that stood by has in it.
constexpr std::string_view kAsks = "tr '\\0' ' ' </proc/$$/cmdline | grep -c 'read -r -n 1'; ";

class StandbyTest : public JobsTest {
 protected:
  void SetUp() override {
    JobsTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(Run("true").outcome->code, 0);
  }

  // The pid, once one is there and waits.
  int AwaitShell() {
    std::string text;
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      io_.run_one_for(std::chrono::milliseconds(10));
      if (const int pid = FindShell(); pid > 0) return pid;
    }
    ADD_FAILURE() << "no shell stands by";
    return 0;
  }

  // Among the processes below init, one of that text that waits for its pipe.
  int FindShell() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const int pid = std::atoi(entry.path().filename().c_str());
      if (pid > 0 && IsShell(pid)) return pid;
    }
    return 0;
  }

  bool IsShell(int pid) const {
    const std::string folder = StrCat("/proc/", pid, "/");
    if (TextOf(folder + "cmdline").find("read -r -n 1") == std::string::npos) return false;
    // It reads its pipe, and not what a command of its profile prints.
    if (TextOf(folder + "syscall").find(" 0x5 ") == std::string::npos) return false;
    const int supervisor = ParentOf(pid);
    return supervisor > 0 && ParentOf(supervisor) == init_->pid();
  }

  static int ParentOf(int pid) {
    const std::string stat = TextOf(StrCat("/proc/", pid, "/stat"));
    const std::size_t at = stat.rfind(')');
    return at == std::string::npos ? 0 : std::atoi(stat.c_str() + at + 4);
  }

  // Empty: the process has gone, perhaps while its file was being read.
  static std::string TextOf(const std::string& path) {
    const std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

TEST_F(StandbyTest, TheNextCommandGetsIt) {
  EXPECT_GT(AwaitShell(), 0);
  const Seen seen = Run(StrCat(kAsks, "echo $SECONDS; false"));
  EXPECT_EQ(seen.out, "1\n0\n");
  EXPECT_EQ(seen.outcome->code, 1);
}

TEST_F(StandbyTest, EachNextCommandGetsAnother) {
  for (int i = 0; i < 50; ++i) {
    const Seen seen = Run(StrCat("echo ", i, "; exit ", i));
    EXPECT_EQ(seen.out, StrCat(i, "\n"));
    EXPECT_EQ(seen.outcome->code, i);
  }
}

TEST_F(StandbyTest, ACommandThatAsksForSomethingGetsAShellOfItsOwn) {
  AwaitShell();
  JobSpec spec = Command(StrCat(kAsks, "echo $WHAT"));
  spec.env = {{"WHAT", "this"}};
  EXPECT_EQ(Run(spec).out, "0\nthis\n");
  JobSpec other = Command(StrCat(kAsks, "pwd"));
  other.cwd = "/";
  EXPECT_EQ(Run(other).out, "0\n/\n");
  JobSpec input = Command(StrCat(kAsks, "cat"));
  input.stdin_text = "in";
  EXPECT_EQ(Run(input).out, "0\nin");
}

TEST_F(StandbyTest, TheOneThatACommandPassedOverEnds) {
  const int pid = AwaitShell();
  JobSpec spec = Command("true");
  spec.cwd = "/";
  Run(spec);
  RunUntil([&]() { return ::kill(pid, 0) != 0; });
}

TEST_F(StandbyTest, NoneIsMadeOrUsedWhileSomethingOfACommandLives) {
  const JobId id = Start(Command("mkfifo go; echo on; read x <go"));
  AwaitOutput(id, 3);
  EXPECT_EQ(Run(StrCat(kAsks, "true")).out, "0\n");
  EXPECT_EQ(FindShell(), 0);
  Run("echo >go");
  Watch(id);
  AwaitShell();
}

TEST_F(StandbyTest, OneThatIsKilledCostsNoCommand) {
  for (int i = 0; i < 5; ++i) {
    const int pid = AwaitShell();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    RunUntil([&]() { return ::kill(pid, 0) != 0; });
    EXPECT_EQ(Run("echo whole").out, "whole\n");
  }
}

// What it read when it started may be another file by now.
TEST_F(StandbyTest, OneThatBeganBeforeAWriteFromOutsideServesNobody) {
  const int pid = AwaitShell();
  table_->RenewStandby();
  RunUntil([&]() { return ::kill(pid, 0) != 0; });
  EXPECT_NE(AwaitShell(), pid);
  EXPECT_EQ(Run(StrCat(kAsks, "true")).out, "1\n");
}

TEST_F(StandbyTest, AWriteWhileACommandRunsLeavesNoneThatBeganBefore) {
  const JobId id = Start(Command("mkfifo go; echo on; read x <go"));
  AwaitOutput(id, 3);
  table_->RenewStandby();
  std::ofstream(init_->workspace() / "go") << "\n";
  Watch(id);
  EXPECT_EQ(Run(StrCat(kAsks, "true")).out, "0\n");
  AwaitShell();
}

TEST_F(StandbyTest, TheOneAskedForInsteadOfADroppedOneStarts) {
  const JobId id = Start(Command("mkfifo go; echo on; read x <go"));
  AwaitOutput(id, 3);
  table_->RenewStandby();
  EXPECT_EQ(Run("echo whole").out, "whole\n");
  std::ofstream(init_->workspace() / "go") << "\n";
  Watch(id);
  EXPECT_GT(AwaitShell(), 0);
}

TEST_F(StandbyTest, ItGoesWithItsAgentAndTheNextAgentsCommandsRun) {
  const int pid = AwaitShell();
  RestartAgent();
  RunUntil([&]() { return ::kill(pid, 0) != 0; });
  EXPECT_EQ(Run("echo whole").out, "whole\n");
  EXPECT_TRUE(broken_.empty());
}

TEST_F(StandbyTest, ALongCommandIsWhole) {
  AwaitShell();
  const std::string text(kMaxStandbyCommandBytes + 1, 'x');
  EXPECT_EQ(Run(StrCat("echo -n ", text)).out, text);
  AwaitShell();
  const std::string most(kMaxStandbyCommandBytes - 8, 'y');
  EXPECT_EQ(Run(StrCat("echo -n ", most)).out, most);
}

TEST_F(StandbyTest, ACommandHasNoDescriptorOfIts) {
  AwaitShell();
  EXPECT_EQ(Run(StrCat(kAsks, "ls /proc/$$/fd")).out, "1\n0\n1\n2\n");
}

TEST_F(StandbyTest, ATakenOneSurvivesItsAgentAsAnyCommandDoes) {
  AwaitShell();
  const JobId id = Start(Command("mkfifo go; echo on; read x <go; echo off; exit 9"));
  AwaitOutput(id, 3);
  RestartAgent();
  std::ofstream(init_->workspace() / "go") << "\n";
  const Seen seen = Watch(id);
  EXPECT_EQ(seen.out, "on\noff\n");
  EXPECT_EQ(seen.outcome->code, 9);
}

}  // namespace
}  // namespace sandkeep
