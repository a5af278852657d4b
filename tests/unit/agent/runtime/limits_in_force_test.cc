// Limits are what was asked for, whatever the engine made of them: on files as the kernel has them,
// and on a process of the test's own.
#include "agent/runtime/limits_in_force.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class LimitsInForceTest : public testing::Test {
 protected:
  LimitsInForceTest() {
    std::string name = testing::TempDir() + "cgroup-XXXXXX";
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "box");
    child_ = ::fork();
    if (child_ == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  ~LimitsInForceTest() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    fs::remove_all(root_);
  }

  void Write(const std::string& file, const std::string& text) {
    std::ofstream(root_ / "box" / file) << text;
  }
  std::string Read(const std::string& file) {
    std::ifstream stream(root_ / "box" / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  rlimit LimitOfChild(__rlimit_resource kind) const {
    rlimit limit{};
    ::prlimit(child_, kind, nullptr, &limit);
    return limit;
  }
  std::vector<std::string> PutRight(const WantedLimits& wanted) {
    return PutLimitsRight(root_.string() + "/", "box", child_, wanted);
  }
  // As many descriptors as it has already.
  WantedLimits Wanted() const {
    return {.cgroup = {.v2 = true, .memory = true, .cpu = true, .pids = true},
            .memory_bytes = 1 << 30,
            .cpus = 2,
            .processes = 256,
            .max_files = static_cast<std::int64_t>(LimitOfChild(RLIMIT_NOFILE).rlim_max)};
  }

  fs::path root_;
  pid_t child_ = 0;
};

TEST_F(LimitsInForceTest, WhatIsAsWantedIsLeftAlone) {
  Write("memory.max", "1073741824\n");
  Write("memory.swap.max", "0\n");
  Write("cpu.max", "200000 100000\n");
  Write("pids.max", "256\n");
  EXPECT_THAT(PutRight(Wanted()), IsEmpty());
  EXPECT_EQ(Read("pids.max"), "256\n");
}

TEST_F(LimitsInForceTest, WhatDidntLandIsPutRightAndSaid) {
  Write("memory.max", "max\n");
  Write("memory.swap.max", "max\n");
  Write("cpu.max", "max 100000\n");
  Write("pids.max", "2048\n");
  EXPECT_THAT(PutRight(Wanted()), ElementsAre("memory.max was max", "memory.swap.max was max",
                                              "cpu.max was max 100000", "pids.max was 2048"));
  // What is written to a kernel's file replaces it; here it goes over its beginning.
  EXPECT_EQ(Read("memory.max").substr(0, 10), "1073741824");
  EXPECT_EQ(Read("memory.swap.max").substr(0, 1), "0");
  EXPECT_EQ(Read("cpu.max").substr(0, 13), "200000 100000");
  EXPECT_EQ(Read("pids.max").substr(0, 3), "256");
}

TEST_F(LimitsInForceTest, WithoutAControllerNothingIsAskedOfIt) {
  WantedLimits wanted = Wanted();
  wanted.cgroup = {};
  Write("memory.max", "max\n");
  EXPECT_THAT(PutRight(wanted), IsEmpty());
  EXPECT_EQ(Read("memory.max"), "max\n");
}

TEST_F(LimitsInForceTest, DescriptorsAndProcessesOfItsInitAreCut) {
  WantedLimits wanted = Wanted();
  wanted.cgroup = {};
  wanted.max_files = 100;
  wanted.max_processes = 50;
  EXPECT_EQ(PutRight(wanted).size(), 2U);
  EXPECT_EQ(LimitOfChild(RLIMIT_NOFILE).rlim_max, 100U);
  EXPECT_EQ(LimitOfChild(RLIMIT_NPROC).rlim_max, 50U);
  EXPECT_THAT(PutRight(wanted), IsEmpty()) << "the second time all is well";
}

TEST_F(LimitsInForceTest, SharedMemoryOfAnotherSizeIsOnlySaid) {
  WantedLimits wanted = Wanted();
  wanted.cgroup = {};
  wanted.shm_bytes = 1;
  const std::vector<std::string> wrong = PutRight(wanted);
  if (wrong.empty()) GTEST_SKIP() << "no /dev/shm here";
  EXPECT_THAT(wrong, ElementsAre(testing::HasSubstr("and still is: its size is fixed")));
}

TEST(ShmBytesTest, IsTheSizeOfTheMount) {
  EXPECT_EQ(ShmBytes("27 20 0:24 / /proc rw - proc proc rw\n"
                     "31 20 0:25 / /dev/shm rw,nosuid - tmpfs shm rw,size=262144k,uid=100000\n"),
            256 << 20);
  EXPECT_EQ(ShmBytes("27 20 0:24 / /proc rw - proc proc rw\n"), 0);
}

}  // namespace
}  // namespace sandkeep
