// What was installed is known when its container goes, and the next result says how it comes back.
#include "agent/sandbox/packages.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "common/limits.h"
#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PackagesTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (!HasFiles()) GTEST_SKIP() << "takes root";
  }

  fs::path layer() const { return runtime_.layer(runtime_.containers().front()); }
  void Make(const std::string& path, std::string_view text = "") {
    fs::create_directories((layer() / path).parent_path());
    std::ofstream(layer() / path) << text;
  }
  void Install() {
    Make("var/lib/dpkg/info/sqlite3.list");
    Make("var/lib/dpkg/info/libsqlite3-0:amd64.list");
    Make("var/lib/dpkg/info/sqlite3.md5sums");
    Make("var/lib/dpkg/info/$(reboot).list");
    Make("var/lib/apt/extended_states",
         "Package: libsqlite3-0\nArchitecture: amd64\nAuto-Installed: 1\n\n");
    Make("usr/local/lib/python3.11/dist-packages/humanize-4.9.0.dist-info/REQUESTED");
    Make("usr/local/lib/python3.11/dist-packages/came_along-1.0.dist-info/METADATA");
    Make("usr/local/lib/node_modules/is-odd/package.json");
    Make("usr/local/lib/node_modules/@scope/tool/package.json");
    Make("usr/local/lib/node_modules/npm/package.json");
  }
  std::vector<std::string> NotesOfNext() {
    auto result = Run(alice_, "otter", "true");
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->started.arrival, Arrival::kRebuilt);
    return result->started.notes;
  }
};

constexpr std::string_view kAll =
    "apt-get update && apt-get install -y sqlite3 && pip install humanize==4.9.0 && "
    "npm install -g @scope/tool is-odd";

TEST_F(PackagesTest, WhatWasInstalledIsNamedWhenTheSandboxIsMadeAnew) {
  OutputOf(alice_, "otter", "true");
  Install();
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "otter"), false)).ok());
  EXPECT_THAT(NotesOfNext(), ElementsAre(HasSubstr(std::string(kAll))));
}

TEST_F(PackagesTest, AContainerThatIsTakenAwayWasLookedAtWhenItFellIdle) {
  OutputOf(alice_, "otter", "true");
  Install();
  ASSERT_TRUE(Wait(manager().Freeze(RefOf(alice_, "otter"))).ok());
  AwaitRecords();
  Die();
  runtime_.RemoveBehind(runtime_.containers().front());
  Boot();
  EXPECT_THAT(NotesOfNext(), ElementsAre(HasSubstr(std::string(kAll))));
}

TEST_F(PackagesTest, OneThatIsMadeAnewTwiceWithoutACommandStillKnows) {
  OutputOf(alice_, "otter", "true");
  Install();
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "otter"), false)).ok());
  OutputOf(alice_, "otter", "true");
  ASSERT_TRUE(Wait(manager().Freeze(RefOf(alice_, "otter"))).ok());
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "otter"), false)).ok());
  // A command ran in the second, and nothing was installed there: nothing is missed any more.
  EXPECT_THAT(NotesOfNext(), IsEmpty());
}

TEST(ReinstallCommandTest, IsCutBetweenPackages) {
  InstalledPackages many;
  for (int i = 0; i < 1000; ++i) many.apt.push_back(StrCat("package-", 1000 + i));
  const std::string command = ReinstallCommand(many);
  EXPECT_LE(command.size(), kMaxReinstallBytes);
  EXPECT_THAT(command,
              testing::MatchesRegex("apt-get update && apt-get install -y( package-1...)+"));
  EXPECT_EQ(ReinstallCommand({}), "");
}

TEST(AutoInstalledTest, AFileThatNamesOneHugePackageAgainAndAgainCostsNoMoreThanItself) {
  std::string states = "Package: " + std::string(512 << 10, 'a') + "\n";
  for (int i = 0; i < 29'000; ++i) states += "Auto-Installed: 1\n";
  EXPECT_THAT(AutoInstalled(states), testing::IsEmpty());
  std::string one = "Package: libc6\n";
  for (int i = 0; i < 1000; ++i) one += "Auto-Installed: 1\n";
  EXPECT_THAT(AutoInstalled(one), ElementsAre("libc6"));
}

}  // namespace
}  // namespace sandkeep
