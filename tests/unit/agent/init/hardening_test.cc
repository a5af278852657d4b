// What the sandbox's root can't do to PID 1, and what init weighs.

#include <elf.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/init/process_tree.h"
#include "common/limits.h"
#include "tests/unit/agent/init/init_test.h"

namespace sandkeep::init {
namespace {

class HardeningTest : public InitTest {
 protected:
  std::string OutputOf(std::string_view command) {
    std::string output;
    agent_->RunToEnd(command, &output);
    return output;
  }

  std::string StatusField(const std::string& name) const {
    std::ifstream status("/proc/" + std::to_string(init_->pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind(name + ":", 0) == 0) return line.substr(name.size() + 1);
    }
    return {};
  }
};

TEST_F(HardeningTest, WithstandsTheRootInside) {
  EXPECT_EQ(OutputOf(Testcase("attack_init")),
            "prlimit of init: EPERM\n"
            "prlimit of init, dressed up: EPERM\n"
            "ptrace: EPERM\n"
            "pidfd_getfd: EPERM\n"
            "pidfd_getfd: EPERM\n"
            "setns: EPERM\n"
            "process_vm_readv: EPERM\n"
            "environ: EACCES\n"
            "mem: EACCES\n"
            "fd: EACCES\n"
            "prlimit of oneself: ok\n"
            "prlimit of oneself by number: ok\n"
            "prlimit of the parent: ok\n");
  ExpectInitServes();
}

TEST_F(HardeningTest, WithstandsAKillOfEverythingThatCanBeKilled) {
  EXPECT_EQ(OutputOf("kill -9 1; kill -TERM 1; kill -STOP 1; echo on"), "on\n");
  const RunningJob bystander = agent_->Start("sleep 1000");
  const RunningJob job = agent_->Start("kill -9 -1; sleep 1000");
  for (const RunningJob* killed : {&bystander, &job}) {
    EXPECT_TRUE(agent_->WaitExited(*killed).supervisor_lost);
    agent_->WaitGone(*killed);
  }
  ExpectInitServes();
}

TEST_F(HardeningTest, GivesCommandsNoNewPrivileges) {
  EXPECT_EQ(OutputOf("grep NoNewPrivs /proc/self/status"), "NoNewPrivs:\t1\n");
}

TEST_F(HardeningTest, CommandsDieBeforeInitWhenMemoryRunsOut) {
  EXPECT_EQ(
      OutputOf("cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj /proc/1/oom_score_adj"),
      "300\n0\n0\n");
}

TEST_F(HardeningTest, StaysUnderTwoMegabytes) {
  for (int i = 0; i < 50; ++i) agent_->RunToEnd("true");
#ifdef NDEBUG
  constexpr long kMost = 2048;
#else
  constexpr long kMost = 3072;  // Not what is shipped: unoptimised code has more pages.
#endif
  EXPECT_LE(std::stol(StatusField("VmRSS")), kMost);
}

// What a stripped file holds, whatever this build left in it.
TEST_F(HardeningTest, StaysUnderThreeMegabytesOnDisk) {
  std::ifstream file("/proc/" + std::to_string(init_->pid()) + "/exe", std::ios::binary);
  Elf64_Ehdr header{};
  ASSERT_TRUE(file.read(reinterpret_cast<char*>(&header), sizeof header));
  std::size_t loaded = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    ASSERT_TRUE(file.read(reinterpret_cast<char*>(&segment), sizeof segment));
    EXPECT_NE(segment.p_type, static_cast<Elf64_Word>(PT_INTERP))
        << "static: no container has our libraries";
    if (segment.p_type == PT_LOAD) loaded += segment.p_filesz;
  }
  EXPECT_GT(loaded, 0U);
  EXPECT_LT(loaded, 3U << 20);
}

TEST_F(HardeningTest, ReturnsEveryDescriptorThatItTook) {
  const std::filesystem::path fds = "/proc/" + std::to_string(init_->pid()) + "/fd";
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(fds),
                         std::filesystem::directory_iterator());
  };
  // A supervisor that waits for the next command has some too: it is there when init's one child is
  // the same for a while. One that has just said that all is over is still a child for a moment.
  const auto settle = [&] {
    pid_t last = 0;
    for (;;) {
      const std::vector<Process> children = ProcessTree::Snapshot().ChildrenOf(init_->pid());
      const pid_t only = children.size() == 1 ? children.front().pid : 0;
      if (only != 0 && only == last) break;
      last = only;
      std::this_thread::sleep_for(10 * kSpareDelay);
    }
    agent_->Ping();
  };
  agent_->RunToEnd("true");
  settle();
  const auto before = count();
  std::vector<RunningJob> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(agent_->Begin(i % 100 == 0 ? "sleep 0 & kill -9 $PPID" : "",
                                 {.merge_streams = i % 2 == 0, .stdin_pipe = i % 3 == 0}));
    if (jobs.size() < 8) continue;
    for (const RunningJob& job : jobs) {
      agent_->WaitGone(job);
      agent_->Forget(job);
    }
    jobs.clear();
  }
  settle();
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace sandkeep::init
