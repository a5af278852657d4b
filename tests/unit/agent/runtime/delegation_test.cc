// What is taken of the host's cgroups. A host without cgroup v2, or with nothing delegated, says
// which of both.

#include "agent/runtime/delegation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "agent/runtime/cgroup.h"

namespace sandkeep {
namespace {

class DelegationTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = std::filesystem::temp_directory_path() / "sandkeep-cgroup-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    std::filesystem::create_directories(folder_ / "ctr");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / "ctr" / name) << text;
  }

  std::filesystem::path folder_;
};

TEST_F(DelegationTest, AFolderThatIsNoCgroupIsSaidToBeNone) {
  const auto parent = TakeDelegatedCgroup(folder_, "/proc/self/cgroup");
  EXPECT_TRUE(absl::IsUnimplemented(parent.status()));
  EXPECT_THAT(std::string(parent.status().message()), testing::HasSubstr("no cgroup v2"));
}

TEST_F(DelegationTest, TheAgentsOwnUnitGoesFirst) {
  for (const char* group : {"slice/a.service", "slice/sandkeep-containers.service"}) {
    std::filesystem::create_directories(folder_ / group);
    std::ofstream(folder_ / group / "cgroup.subtree_control") << "";
  }
  std::ofstream(folder_ / "slice/cgroup.procs") << "";
  for (const char* stands : {"0::/slice/a.service\n", "0::/slice/a.service/agent\n"}) {
    const auto found = FindDelegation(folder_, stands);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->group, "/slice/a.service");
    EXPECT_TRUE(found->own);
  }
}

TEST_F(DelegationTest, TheGroupKeptForContainersBesideItIsTheNext) {
  std::filesystem::create_directories(folder_ / "slice/a.service");
  const std::string stands = "0::/slice/a.service\n";
  EXPECT_TRUE(absl::IsUnimplemented(FindDelegation(folder_, stands).status()));
  const auto keeper = folder_ / "slice/sandkeep-containers.service";
  std::filesystem::create_directories(keeper);
  std::ofstream(keeper / "cgroup.subtree_control") << "";
  EXPECT_TRUE(absl::IsUnimplemented(FindDelegation(folder_, stands).status()))
      << "without the group that holds both no process can be moved";
  std::ofstream(folder_ / "slice/cgroup.procs") << "";
  const auto found = FindDelegation(folder_, stands);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->group, "/slice/sandkeep-containers.service");
  EXPECT_FALSE(found->own);
}

TEST_F(DelegationTest, CountsAreReadFromTheGroup) {
  Write("memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
  Write("pids.events", "max 41\n");
  Write("memory.max", "1073741824\n");
  const auto counts = ReadCounts(folder_, "/ctr");
  ASSERT_TRUE(counts.has_value());
  EXPECT_EQ(counts->oom_kills, 2U);
  EXPECT_EQ(counts->failed_forks, 41U);
  EXPECT_EQ(counts->memory_max, 1 << 30);
}

TEST_F(DelegationTest, AGroupWithoutALimitOrWithoutAControllerIsToldApart) {
  Write("memory.events", "oom 0\noom_kill 0\n");
  EXPECT_FALSE(ReadCounts(folder_, "/ctr").has_value());
  Write("pids.events", "max 0\n");
  Write("memory.max", "max\n");
  EXPECT_EQ(ReadCounts(folder_, "/ctr")->memory_max, 0);
  EXPECT_FALSE(ReadCounts(folder_, "/gone").has_value());
}

}  // namespace
}  // namespace sandkeep
