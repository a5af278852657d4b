// One missing argument here is a hole in every sandbox, so the line is spelled out whole.

#include "agent/runtime/podman_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "agent/runtime/cgroup.h"
#include "agent/runtime/container_init.h"
#include "agent/runtime/volume_folders.h"

namespace sandkeep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

EngineName Name(std::string_view text) { return *EngineName::Parse(text); }

class PodmanCommandTest : public testing::Test {
 protected:
  PodmanCommandTest() {
    options_.init_path = "/usr/libexec/sandkeep/sandkeep-init";
    options_.state_dir = "/var/lib/sandkeep";
    spec_.limits.max_processes = 1000;
  }

  PodmanOptions options_{*InstanceId::FromHex("000102030405060708090a0b0c0d0e0f")};
  ContainerSpec spec_{Name("sandkeep-aaaaaaaaaaaaaaaaaaaa"),
                      Name("sandkeep-bbbbbbbbbbbbbbbbbbbb"),
                      "amber-otter",
                      "/var/lib/sandkeep/seccomp.json",
                      "/var/lib/sandkeep/sandboxes/x",
                      NetworkHelper::kSlirp4netns,
                      {}};
};

// Where a sandbox is made and started in two steps. `podman create` refuses what it doesn't know.
TEST_F(PodmanCommandTest, WhatIsOnlyMadeTakesWhatARunTakesButRunsOwn) {
  Arguments run = RunArguments(options_, spec_);
  std::erase_if(run, [](const std::string& argument) {
    return argument == "--detach" || argument == "--passwd=false";
  });
  run.front() = "create";
  EXPECT_EQ(CreateArguments(options_, spec_), run);
}

TEST_F(PodmanCommandTest, TheWholeLineWithoutCgroups) {
  EXPECT_THAT(
      RunArguments(options_, spec_),
      ElementsAre("run", "--detach", "--passwd=false", "--name=sandkeep-aaaaaaaaaaaaaaaaaaaa",
                  "--hostname=amber-otter", "--pidfile=/var/lib/sandkeep/sandboxes/x/pid",
                  "--entrypoint=/usr/libexec/sandkeep-init", "--user=0:0", "--workdir=/",
                  "--umask=0022", "--systemd=false", "--init=false", "--image-volume=ignore",
                  "--no-healthcheck", "--restart=no", "--pull=never", "--log-driver=none",
                  "--stop-signal=SIGKILL", "--stop-timeout=0",
                  "--label=sandkeep.instance=000102030405060708090a0b0c0d0e0f",
                  "--label=sandkeep.volume=sandkeep-bbbbbbbbbbbbbbbbbbbb", "--userns=nomap",
                  "--cap-drop=ALL",
                  "--cap-add=CHOWN,DAC_OVERRIDE,FOWNER,FSETID,SETUID,SETGID,KILL,NET_BIND_SERVICE,"
                  "SYS_CHROOT",
                  "--security-opt=no-new-privileges", "--security-opt=label=level:s0:c66,c957",
                  "--network=slirp4netns", "--ipc=private", "--http-proxy=false", "--unsetenv-all",
                  "--security-opt=seccomp=/var/lib/sandkeep/seccomp.json",
                  "--security-opt=mask=/sys/fs/cgroup", "--shm-size=268435456",
                  "--ulimit=nofile=4096:8192", "--ulimit=core=0:0", "--ulimit=nproc=256:256",
                  "--volume=/usr/libexec/sandkeep/sandkeep-init:/usr/libexec/sandkeep-init:ro",
                  "--volume=/var/lib/sandkeep/sandboxes/x/hosts:/etc/hosts:ro",
                  "--volume=/var/lib/sandkeep/sandboxes/x/hostname:/etc/hostname:ro",
                  "--volume=/var/lib/sandkeep/sandboxes/x/resolv.conf:/etc/resolv.conf:ro",
                  "--volume=/var/lib/sandkeep/sandboxes/x/containerenv:/run/.containerenv:ro",
                  "--volume=sandkeep-bbbbbbbbbbbbbbbbbbbb:/workspace:nosuid,nodev",
                  "localhost/sandkeep-sandbox"));
}

TEST_F(PodmanCommandTest, CategoriesAreTheVolumesOwnWhateverContainerTakesIt) {
  const auto level = [this](const char* container, const char* volume) {
    spec_.name = Name(container);
    spec_.volume = Name(volume);
    const Arguments arguments = RunArguments(options_, spec_);
    const auto found = std::find_if(arguments.begin(), arguments.end(), [](const auto& argument) {
      return argument.find("=label=level:") != std::string::npos;
    });
    return found == arguments.end() ? "none" : *found;
  };
  const std::string first = level("sandkeep-aaaaaaaaaaaaaaaaaaaa", "sandkeep-bbbbbbbbbbbbbbbbbbbb");
  EXPECT_EQ(first, level("sandkeep-cccccccccccccccccccc", "sandkeep-bbbbbbbbbbbbbbbbbbbb"));
  EXPECT_NE(first, level("sandkeep-aaaaaaaaaaaaaaaaaaaa", "sandkeep-bbbbbbbbbbbbbbbbbbbc"));
  EXPECT_NE(first, "none");
}

TEST_F(PodmanCommandTest, LimitsLandWhereTheirControllersDo) {
  spec_.limits.cgroup = {.v2 = true, .memory = true, .cpu = true, .pids = true};
  options_.cgroup_parent = "/system.slice/sandkeep-agent.service/ctrs";

  const Arguments arguments = RunArguments(options_, spec_);

  EXPECT_THAT(arguments,
              IsSupersetOf({"--memory=1073741824", "--memory-swap=1073741824", "--cpus=2",
                            "--pids-limit=256",
                            "--cgroup-parent=/system.slice/sandkeep-agent.service/ctrs"}));
  EXPECT_THAT(arguments, Not(Contains("--security-opt=mask=/sys/fs/cgroup")));
  EXPECT_THAT(arguments, Not(Contains(StartsWith("--ulimit=nproc"))))
      << "met first, it would hide from the group's counter that the limit was met";
  EXPECT_THAT(GlobalArguments(options_), Contains("--cgroup-manager=cgroupfs"));
}

TEST_F(PodmanCommandTest, NoLimitIsAskedForThatTheHostCannotGive) {
  spec_.limits.cgroup = {.v2 = true, .memory = false, .cpu = false, .pids = false};

  const Arguments arguments = RunArguments(options_, spec_);

  EXPECT_THAT(arguments, Not(Contains(StartsWith("--memory"))));
  EXPECT_THAT(arguments, Not(Contains(StartsWith("--cpus"))));
  EXPECT_THAT(arguments, Contains("--pids-limit=0"));
}

TEST_F(PodmanCommandTest, LimitsOfTheAgentsOwnUserAreNotExceeded) {
  // The engine's runtime fails to start what asks for more.
  spec_.limits.max_files = 1024;
  spec_.limits.max_processes = 100;

  EXPECT_THAT(RunArguments(options_, spec_),
              IsSupersetOf({"--ulimit=nofile=1024:1024", "--ulimit=nproc=100:100"}));
}

TEST_F(PodmanCommandTest, ThePersistentProfileFindsTheWorkspaceTwice) {
  options_.persistent = true;
  EXPECT_THAT(RunArguments(options_, spec_),
              Contains("--volume=sandkeep-bbbbbbbbbbbbbbbbbbbb:/sandbox:nosuid,nodev"));
}

TEST_F(PodmanCommandTest, NoNetworkMeansNone) {
  spec_.network = NetworkHelper::kNone;
  EXPECT_THAT(RunArguments(options_, spec_), Contains("--network=none"));
}

TEST_F(PodmanCommandTest, ListsAskForThisInstanceOnly) {
  const char* filter = "--filter=label=sandkeep.instance=000102030405060708090a0b0c0d0e0f";
  EXPECT_THAT(ListContainersArguments(options_), Contains(filter));
  EXPECT_THAT(ListVolumesArguments(options_), Contains(filter));
}

TEST(CheckHostnameTest, TakesNamesAndNothingElse) {
  EXPECT_TRUE(CheckHostname("a").ok());
  EXPECT_TRUE(CheckHostname("amber-otter-417").ok());
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a b", "a\n127.0.0.1 x", "--privileged"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckHostname(bad))) << bad;
  }
  EXPECT_FALSE(CheckHostname(std::string(64, 'a')).ok());
}

TEST(ContainerCgroupTest, IsTheContainersOwnAndNeverTheAgents) {
  EXPECT_EQ(*ContainerCgroup("0::/system.slice/a.service/ctrs/libpod-12ab\n"),
            "/system.slice/a.service/ctrs/libpod-12ab");
  EXPECT_EQ(*ContainerCgroup("1:cpu:/x\n0::/u/libpod-12ab.scope/container\n"),
            "/u/libpod-12ab.scope");
  for (const char* none : {"", "0::/", "0::/system.slice/a.service\n", "1:name=systemd:/libpod-1\n",
                           "0::/../libpod-12/x\n"}) {
    EXPECT_TRUE(absl::IsUnimplemented(ContainerCgroup(none).status())) << none;
  }
}

TEST(IsNamespaceInitTest, OnlyPidOneOfANamespaceBelow) {
  EXPECT_TRUE(IsNamespaceInit("Name:\tx\nNSpid:\t22256\t1\nNSpgid:\t1\n"));
  EXPECT_TRUE(IsNamespaceInit("NSpid:\t9\t4\t1\n"));
  for (const char* no :
       {"", "NSpid:\t1\n", "NSpid:\t22256\t2\n", "NSpid:\t22256\t11\n", "NSpid:"}) {
    EXPECT_FALSE(IsNamespaceInit(no)) << no;
  }
}

TEST(VolumesFolderTest, KnowsOnlyPodmansLayout) {
  const EngineName name = Name("sandkeep-bbbbbbbbbbbbbbbbbbbb");
  EXPECT_EQ(*VolumesFolder("/s/volumes/sandkeep-bbbbbbbbbbbbbbbbbbbb/_data", name), "/s/volumes");
  EXPECT_TRUE(absl::IsDataLoss(VolumesFolder("/s/volumes/other/_data", name).status()));
  EXPECT_TRUE(absl::IsDataLoss(VolumesFolder("", name).status()));
}

}  // namespace
}  // namespace sandkeep
