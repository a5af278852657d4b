// What only a real engine has: a writable layer, other people's objects, an image that can be
// missing, and the confinement that every promise of a sandbox stands on. Real rootless podman, as
// container_runtime_test.cc.

#include "agent/runtime/podman_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "agent/runtime/removed_folder.h"
#include "agent/runtime/volume_folders.h"
#include "common/limits.h"
#include "common/random.h"
#include "common/strings.h"
#include "tests/contract/podman_host.h"
#include "tests/fakes/await.h"
#include "tests/unit/agent/init/test_agent.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class PodmanRuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoPodman(); !reason.empty()) GTEST_SKIP() << reason;
    state_ = MakeStateFolder();
    options_ = TestOptions(instance_, state_);
  }
  void TearDown() override {
    if (!options_) return;
    const auto runtime = MakePodmanRuntime(runner_.executor(), TestOptions(instance_, state_));
    const auto objects = runner_.Await(runtime->ListOurs());
    for (const ContainerRecord& container : objects->containers) {
      EXPECT_TRUE(runner_.Await(runtime->Remove(container.name)).ok());
    }
    for (const VolumeRecord& volume : objects->volumes) {
      EXPECT_TRUE(runner_.Await(runtime->RemoveVolume(volume.name)).ok());
    }
    fs::remove_all(state_);
  }

  std::unique_ptr<ContainerRuntime> Make() {
    return MakePodmanRuntime(runner_.executor(), *options_);
  }
  init::TestAgent StartAgent(ContainerRuntime& runtime) {
    EXPECT_TRUE(runner_.Await(runtime.CreateVolume(volume_, "b")).ok());
    auto running = runner_.Await(runtime.Start(container_, volume_, "amber-otter"));
    EXPECT_TRUE(running.ok()) << running.status();
    return init::TestAgent(std::move(running->channel));
  }
  static fs::path VolumesOf(const PodmanOptions& options) {
    return fs::path(options.home) / "containers/storage/volumes";
  }
  static std::string Run(init::TestAgent& agent, std::string_view command) {
    std::string output;
    agent.RunToEnd(command, &output);
    return output;
  }

  AsyncRunner runner_;
  const InstanceId instance_ = InstanceId::Random(SystemRandom());
  fs::path state_;
  std::optional<PodmanOptions> options_;
  const EngineName container_ = EngineName::Make(SystemRandom());
  const EngineName volume_ = EngineName::Make(SystemRandom());
};

TEST_F(PodmanRuntimeTest, PackagesSurviveStopAndStart) {
  const auto runtime = Make();
  {
    init::TestAgent agent = StartAgent(*runtime);
    EXPECT_EQ(Run(agent, "echo kept > /usr/local/bin/tool; echo $?"), "0\n");
  }
  ASSERT_TRUE(runner_.Await(runtime->Stop(container_)).ok());
  init::TestAgent agent = StartAgent(*runtime);
  EXPECT_EQ(Run(agent, "cat /usr/local/bin/tool"), "kept\n");
}

TEST_F(PodmanRuntimeTest, AStoppedOneThatDoesNotStartIsAskedOnceATryAndKept) {
  {
    init::TestAgent agent = StartAgent(*Make());
  }
  ASSERT_TRUE(runner_.Await(Make()->Stop(container_)).ok());
  const std::string asked = state_ / "asked";
  const std::string wrapper = state_ / "podman";
  std::ofstream(wrapper) << "#!/bin/sh\n"
                         << "for word; do [ \"$word\" != start ] || { echo >>" << asked
                         << "; exit 125; }; done\n"
                         << "exec " << options_->podman << " \"$@\"\n";
  fs::permissions(wrapper, fs::perms::owner_all);
  PodmanOptions options = TestOptions(instance_, state_);
  options.podman = wrapper;
  const auto runtime = MakePodmanRuntime(runner_.executor(), options);

  EXPECT_FALSE(runner_.Await(runtime->Start(container_, volume_, "amber-otter")).ok());
  EXPECT_EQ(fs::file_size(asked), static_cast<std::uintmax_t>(kEngineTries));

  EXPECT_TRUE(runner_.Await(Make()->Start(container_, volume_, "amber-otter")).ok());
}

// As an agent leaves it that dies between the two halves of a removal.
TEST_F(PodmanRuntimeTest, AVolumeWhoseRemovalWasCutOffIsThereAgain) {
  ASSERT_TRUE(runner_.Await(Make()->CreateVolume(volume_, "b")).ok());
  const fs::path volumes = VolumesOf(*options_);
  ASSERT_TRUE(SetVolumeAside(volumes, volume_).value());

  const auto runtime = Make();
  const auto objects = runner_.Await(runtime->ListOurs());

  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->volumes.size(), 1U);
  EXPECT_EQ(objects->volumes.front().binding, "b");
  EXPECT_TRUE(runner_.Await(runtime->EmptyRemoved()).ok());
  EXPECT_TRUE(runner_.Await(runtime->OpenVolume(volume_)).ok());
}

TEST_F(PodmanRuntimeTest, WhatADeadAgentHadRemovedIsDeletedByTheNext) {
  const auto runtime = Make();
  for (const EngineName& name : {volume_, container_}) {
    ASSERT_TRUE(runner_.Await(runtime->CreateVolume(name, "b")).ok());
    ASSERT_TRUE(runner_.Await(runtime->RemoveVolume(name)).ok());
  }
  const fs::path removed = VolumesOf(*options_) / ".sandkeep-removed";
  ASSERT_TRUE(fs::exists(removed / (volume_.text() + ".gone")));
  // It died before it could say so of the second one.
  fs::rename(removed / (container_.text() + ".gone"), removed / container_.text());

  EXPECT_TRUE(runner_.Await(Make()->EmptyRemoved()).ok());

  for (const auto& entry : fs::directory_iterator(removed)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(volume_.text())));
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(container_.text())));
  }
}

TEST_F(PodmanRuntimeTest, ARemovalThatTheEngineDoesNotAnswerLeavesTheVolumeAsItWas) {
  ASSERT_TRUE(runner_.Await(Make()->CreateVolume(volume_, "b")).ok());
  const std::string wrapper = state_ / "podman";
  std::ofstream(wrapper) << "#!/bin/sh\n"
                         << "for word; do [ \"$word\" != rm ] || exit 125; done\n"
                         << "exec " << options_->podman << " \"$@\"\n";
  fs::permissions(wrapper, fs::perms::owner_all);
  PodmanOptions options = TestOptions(instance_, state_);
  options.podman = wrapper;

  EXPECT_FALSE(
      runner_.Await(MakePodmanRuntime(runner_.executor(), options)->RemoveVolume(volume_)).ok());

  EXPECT_EQ(ReadBinding(VolumesOf(*options_), volume_), "b");
}

TEST_F(PodmanRuntimeTest, AnotherInstanceSeesNothingOfOurs) {
  const auto runtime = Make();
  StartAgent(*runtime);
  const auto other = MakePodmanRuntime(runner_.executor(),
                                       TestOptions(InstanceId::Random(SystemRandom()), state_));

  const auto objects = runner_.Await(other->ListOurs());

  ASSERT_TRUE(objects.ok()) << objects.status();
  EXPECT_TRUE(objects->containers.empty());
  EXPECT_TRUE(objects->volumes.empty());
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(other->Attach(container_)).status()));
}

TEST_F(PodmanRuntimeTest, InsideItLooksAsTheDesignSays) {
  const auto runtime = Make();
  init::TestAgent agent = StartAgent(*runtime);

  EXPECT_EQ(Run(agent, "hostname; id -u"), "amber-otter\n0\n");
  EXPECT_EQ(Run(agent, "grep CapBnd /proc/self/status"), "CapBnd:\t00000000000404fb\n");
  EXPECT_EQ(Run(agent, "grep NoNewPrivs /proc/self/status"), "NoNewPrivs:\t1\n");
  // The root inside is a subordinate uid outside.
  EXPECT_EQ(Run(agent, "awk '$1 == 0 && $2 > 0' /proc/self/uid_map | wc -l"), "1\n");
  for (const char* file : {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv",
                           "/usr/libexec/sandkeep-init"}) {
    EXPECT_EQ(Run(agent, StrCat("( : >> ", file, " ) 2>/dev/null; echo $?")), "1\n") << file;
  }
  EXPECT_EQ(Run(agent, "getent hosts amber-otter | awk '{print $1}'"), "127.0.1.1\n");
  EXPECT_EQ(Run(agent, "ulimit -c"), "0\n");
  EXPECT_THAT(Run(agent, "grep ' /workspace ' /proc/mounts"), HasSubstr("nosuid,nodev"));
}

TEST_F(PodmanRuntimeTest, NothingOfTheHostsEnvironmentIsInside) {
  ::setenv("SANDKEEP_SECRET", "hunter2", 1);
  ::setenv("http_proxy", "http://192.0.2.1:1", 1);
  const auto runtime = Make();
  init::TestAgent agent = StartAgent(*runtime);

  EXPECT_EQ(Run(agent, "env | grep -ciE 'secret|hunter|proxy'"), "0\n");
}

TEST_F(PodmanRuntimeTest, AMissingImageSaysWhatToDoAndLeavesNothing) {
  options_->image = "localhost/sandkeep-no-such-image";
  const auto runtime = Make();
  ASSERT_TRUE(runner_.Await(runtime->CreateVolume(volume_, "b")).ok());

  const auto running = runner_.Await(runtime->Start(container_, volume_, "amber-otter"));

  EXPECT_TRUE(absl::IsFailedPrecondition(running.status())) << running.status();
  EXPECT_THAT(running.status().ToString(), HasSubstr("deploy/image/build.sh"));
  EXPECT_THAT(runner_.Await(runtime->Probe())->problems,
              testing::Contains(HasSubstr("deploy/image/build.sh")));
  EXPECT_TRUE(runner_.Await(runtime->ListOurs())->containers.empty());
}

TEST_F(PodmanRuntimeTest, AMissingPodmanSaysWhatToDo) {
  PodmanOptions options = *options_;
  options.podman = "/nowhere/podman";
  const auto runtime = MakePodmanRuntime(runner_.executor(), options);

  const auto info = runner_.Await(runtime->Probe());

  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(info->problems, testing::ElementsAre(HasSubstr("apt-get install podman")));
  for (const absl::Status& status :
       {runner_.Await(runtime->CreateVolume(volume_, "b")),
        runner_.Await(runtime->Start(container_, volume_, "a")).status(),
        runner_.Await(runtime->Attach(container_)).status(),
        runner_.Await(runtime->Remove(container_)), runner_.Await(runtime->ListOurs()).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
}

TEST_F(PodmanRuntimeTest, InternetNeedsTheUnitsFilter) {
  options_->network = SandboxNetwork::kInternet;
  const auto runtime = Make();

  EXPECT_THAT(runner_.Await(runtime->Probe())->problems, testing::Contains(HasSubstr("internet")));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(runner_.Await(runtime->Start(container_, volume_, "a")).status()));
}

TEST_F(PodmanRuntimeTest, WithoutANetworkThereIsOnlyTheLoopback) {
  options_->network = SandboxNetwork::kNone;
  const auto runtime = Make();
  init::TestAgent agent = StartAgent(*runtime);
  EXPECT_EQ(Run(agent, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"), "lo\n");
}

}  // namespace
}  // namespace sandkeep
