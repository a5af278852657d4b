// What a container runtime promises, held against the fake that tests script and against real
// rootless podman: a fake that promises more would prove nothing.
//
// podman's half runs as the engine's user with its HOME and XDG_RUNTIME_DIR (tests/run.sh contract
// does that), and is skipped with the reason elsewhere.

#include "agent/runtime/container_runtime.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "agent/runtime/podman_runtime.h"
#include "common/random.h"
#include "common/strings.h"
#include "tests/contract/podman_host.h"
#include "tests/fakes/await.h"
#include "tests/fakes/fake_runtime.h"
#include "tests/fakes/patience.h"
#include "tests/unit/agent/init/test_agent.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// One engine, as successive agents see it.
class Engine {
 public:
  virtual ~Engine() = default;
  // Empty: it can be tried here.
  virtual std::string WhyNot() = 0;
  // The runtime of a newly started agent of the same instance.
  virtual ContainerRuntime& NewAgent(AsyncRunner& runner) = 0;
};

class FakeEngine : public Engine {
 public:
  std::string WhyNot() override {
    const auto init = InitProcess::Start();
    return init.ok() ? "" : std::string(ToStd(init.status().message()));
  }
  // It outlives the agents of a test.
  ContainerRuntime& NewAgent(AsyncRunner&) override { return runtime_; }

 private:
  FakeRuntime runtime_;
};

class PodmanEngineUnderTest : public Engine {
 public:
  ~PodmanEngineUnderTest() override { fs::remove_all(state_); }

  std::string WhyNot() override { return WhyNoPodman(); }
  ContainerRuntime& NewAgent(AsyncRunner& runner) override {
    runtimes_.push_back(MakePodmanRuntime(runner.executor(), TestOptions(instance_, state_)));
    return *runtimes_.back();
  }

 private:
  InstanceId instance_ = InstanceId::Random(SystemRandom());
  fs::path state_ = MakeStateFolder();
  std::vector<std::unique_ptr<ContainerRuntime>> runtimes_;
};

bool IsAlive(const UniqueFd& pidfd) {
  pollfd ended{pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

class ContainerRuntimeTest : public testing::TestWithParam<const char*> {
 protected:
  ContainerRuntimeTest() {
    if (GetParam() == std::string_view("podman")) {
      engine_ = std::make_unique<PodmanEngineUnderTest>();
    } else {
      engine_ = std::make_unique<FakeEngine>();
    }
  }

  void SetUp() override {
    if (const std::string reason = engine_->WhyNot(); !reason.empty()) GTEST_SKIP() << reason;
    runtime_ = &engine_->NewAgent(runner_);
  }

  // Whatever a test did, nothing of it stays.
  void TearDown() override {
    if (runtime_ == nullptr) return;
    const auto objects = List();
    for (const ContainerRecord& container : objects.containers) {
      EXPECT_TRUE(runner_.Await(runtime_->Remove(container.name)).ok());
    }
    for (const VolumeRecord& volume : objects.volumes) {
      EXPECT_TRUE(runner_.Await(runtime_->RemoveVolume(volume.name)).ok());
    }
  }

  bool real() const { return GetParam() == std::string_view("podman"); }

  EngineObjects List() {
    auto objects = runner_.Await(runtime_->ListOurs());
    EXPECT_TRUE(objects.ok()) << objects.status();
    return objects.value_or(EngineObjects());
  }
  ContainerState StateOf(const EngineName& name) {
    for (const ContainerRecord& container : List().containers) {
      if (container.name == name) return container.state;
    }
    return ContainerState::kUnknown;
  }
  void MakeVolume() {
    const absl::Status made = runner_.Await(runtime_->CreateVolume(volume_, "binding text"));
    ASSERT_TRUE(made.ok()) << made;
  }
  absl::StatusOr<RunningContainer> Start() {
    return runner_.Await(runtime_->Start(container_, volume_, "amber-otter"));
  }
  static std::string Run(init::TestAgent& agent, std::string_view command) {
    std::string output;
    agent.RunToEnd(command, &output);
    return output;
  }

  // As the agent does it: where the engine can't, init stops every process. False: init did.
  bool SetFrozen(init::TestAgent& agent, bool frozen) {
    const absl::Status done =
        runner_.Await(frozen ? runtime_->Freeze(container_) : runtime_->Thaw(container_));
    if (!absl::IsUnimplemented(done)) {
      EXPECT_TRUE(done.ok()) << done;
      return true;
    }
    init::v1::ToInit order;
    if (frozen) {
      order.mutable_freeze();
    } else {
      order.mutable_thaw();
    }
    agent.Send(order);
    agent.WaitFor([](const init::v1::FromInit& frame) { return frame.has_frozen(); });
    return false;
  }

  AsyncRunner runner_;
  std::unique_ptr<Engine> engine_;
  ContainerRuntime* runtime_ = nullptr;
  const EngineName container_ = EngineName::Make(SystemRandom());
  const EngineName volume_ = EngineName::Make(SystemRandom());
};

TEST_P(ContainerRuntimeTest, AReadyHostHasNoProblems) {
  const auto info = runner_.Await(runtime_->Probe());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(info->problems, testing::IsEmpty());
  EXPECT_FALSE(info->engine.empty());
}

TEST_P(ContainerRuntimeTest, AStartedSandboxAnswersAndRunsCommands) {
  MakeVolume();
  auto running = Start();
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_EQ(running->name, container_);
  EXPECT_EQ(running->hostname, "amber-otter");
  EXPECT_GT(running->init_pid, 1);
  EXPECT_TRUE(IsAlive(running->init_pidfd));

  init::TestAgent agent(std::move(running->channel));
  EXPECT_EQ(Run(agent, "echo hello"), "hello\n");
  EXPECT_EQ(StateOf(container_), ContainerState::kRunning);
}

TEST_P(ContainerRuntimeTest, StartingWhatRunsTakesTheSameInit) {
  MakeVolume();
  const auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();

  auto second = Start();

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->init_pid, first->init_pid);
  init::TestAgent agent(std::move(second->channel));
  EXPECT_EQ(Run(agent, "echo hello"), "hello\n");
}

TEST_P(ContainerRuntimeTest, AnotherAgentTakesTheChannelOfWhatRuns) {
  MakeVolume();
  const auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  runtime_ = &engine_->NewAgent(runner_);

  auto second = runner_.Await(runtime_->Attach(container_));

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->init_pid, first->init_pid);
  EXPECT_EQ(second->hostname, "amber-otter");
  init::TestAgent agent(std::move(second->channel));
  EXPECT_EQ(Run(agent, "echo hello"), "hello\n");
}

TEST_P(ContainerRuntimeTest, OnlyWhatRunsCanBeAttached) {
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(runtime_->Attach(container_)).status()));
  MakeVolume();
  ASSERT_TRUE(Start().ok());
  ASSERT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(runtime_->Attach(container_)).status()));
}

TEST_P(ContainerRuntimeTest, StopEndsEveryProcessAndStartBeginsAnew) {
  MakeVolume();
  const auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->made_anew);

  ASSERT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());

  EXPECT_FALSE(IsAlive(first->init_pidfd));
  EXPECT_EQ(StateOf(container_), ContainerState::kStopped);
  auto second = Start();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->made_anew);
  EXPECT_NE(second->init_pid, first->init_pid);
  init::TestAgent agent(std::move(second->channel));
  EXPECT_EQ(Run(agent, "echo hello"), "hello\n");
}

// It prints all the time, so that a silence says that it stands still.
TEST_P(ContainerRuntimeTest, AFrozenOneStandsStillAndGoesOnWhereItWas) {
  constexpr int kSilenceMs = 300;
  MakeVolume();
  auto running = Start();
  ASSERT_TRUE(running.ok()) << running.status();
  init::TestAgent agent(std::move(running->channel));
  const init::RunningJob job = agent.Start("while :; do echo x; done");
  ASSERT_EQ(init::ReadLine(job.output), "x");

  const bool by_engine = SetFrozen(agent, true);

  // What was on its way comes to an end.
  pollfd more{job.output.get(), POLLIN, 0};
  char drained[65536];
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (::poll(&more, 1, kSilenceMs) == 1) {
    ASSERT_GT(::read(job.output.get(), drained, sizeof(drained)), 0);
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it prints on";
  }
  EXPECT_EQ(StateOf(container_), by_engine ? ContainerState::kFrozen : ContainerState::kRunning);
  EXPECT_EQ(SetFrozen(agent, false), by_engine);
  EXPECT_EQ(::poll(&more, 1, kTestPatienceMs), 1) << "it doesn't go on";
  EXPECT_EQ(SetFrozen(agent, false), by_engine) << "thawing what runs changes nothing";
  EXPECT_EQ(StateOf(container_), ContainerState::kRunning);
  agent.Signal(job, SIGKILL, true);
}

TEST_P(ContainerRuntimeTest, WhatIsGoneIsNotFrozen) {
  const absl::Status frozen = runner_.Await(runtime_->Freeze(container_));
  EXPECT_TRUE(absl::IsNotFound(frozen) || absl::IsUnimplemented(frozen)) << frozen;
}

TEST_P(ContainerRuntimeTest, AFrozenOneIsStoppedAndRemovedAsAnyOther) {
  MakeVolume();
  auto running = Start();
  ASSERT_TRUE(running.ok()) << running.status();
  init::TestAgent agent(std::move(running->channel));
  agent.Start("sleep 1000");
  SetFrozen(agent, true);

  ASSERT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());

  EXPECT_FALSE(IsAlive(running->init_pidfd));
  EXPECT_EQ(StateOf(container_), ContainerState::kStopped);
  EXPECT_TRUE(runner_.Await(runtime_->Remove(container_)).ok());
  EXPECT_TRUE(List().containers.empty());
}

TEST_P(ContainerRuntimeTest, StoppingAndRemovingWhatIsGoneSucceeds) {
  EXPECT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());
  EXPECT_TRUE(runner_.Await(runtime_->Remove(container_)).ok());
  EXPECT_TRUE(runner_.Await(runtime_->RemoveVolume(volume_)).ok());
  MakeVolume();
  ASSERT_TRUE(Start().ok());
  EXPECT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());
  EXPECT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());
  EXPECT_TRUE(runner_.Await(runtime_->Remove(container_)).ok());
  EXPECT_TRUE(runner_.Await(runtime_->Remove(container_)).ok());
}

TEST_P(ContainerRuntimeTest, RemoveLeavesTheVolumeAndItsFiles) {
  MakeVolume();
  auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  {
    init::TestAgent agent(std::move(first->channel));
    EXPECT_EQ(Run(agent, "echo kept > file; cat file"), "kept\n");
  }

  ASSERT_TRUE(runner_.Await(runtime_->Remove(container_)).ok());

  EXPECT_FALSE(IsAlive(first->init_pidfd));
  const EngineObjects objects = List();
  EXPECT_TRUE(objects.containers.empty());
  ASSERT_EQ(objects.volumes.size(), 1u);
  auto second = Start();
  ASSERT_TRUE(second.ok()) << second.status();
  init::TestAgent agent(std::move(second->channel));
  EXPECT_EQ(Run(agent, "cat file"), "kept\n");
}

TEST_P(ContainerRuntimeTest, TheBindingIsReadBackWhateverHappensInside) {
  MakeVolume();
  auto running = Start();
  ASSERT_TRUE(running.ok()) << running.status();
  init::TestAgent agent(std::move(running->channel));
  Run(agent, "echo forged > ../sandkeep-binding; echo forged > sandkeep-binding");

  const EngineObjects objects = List();

  ASSERT_EQ(objects.volumes.size(), 1u);
  EXPECT_EQ(objects.volumes.front().name, volume_);
  EXPECT_EQ(objects.volumes.front().binding, "binding text");
  ASSERT_EQ(objects.containers.size(), 1u);
  EXPECT_EQ(objects.containers.front().volume, volume_);
}

TEST_P(ContainerRuntimeTest, CreatingAVolumeTwiceIsOnce) {
  MakeVolume();
  MakeVolume();
  EXPECT_EQ(List().volumes.size(), 1u);
}

TEST_P(ContainerRuntimeTest, AVolumeInUseIsNotRemoved) {
  MakeVolume();
  ASSERT_TRUE(Start().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(runner_.Await(runtime_->RemoveVolume(volume_))));
  EXPECT_EQ(List().volumes.at(0).binding, "binding text");
  EXPECT_EQ(StateOf(container_), ContainerState::kRunning);
  EXPECT_TRUE(runner_.Await(runtime_->OpenVolume(volume_)).ok());
}

// Of a folder that its descriptor outlives.
bool IsDeleted(const UniqueFd& folder) {
  struct stat info{};
  EXPECT_EQ(::fstat(folder.get(), &info), 0);
  return info.st_nlink == 0;
}

TEST_P(ContainerRuntimeTest, ARemovedVolumesFilesGoWhenTheyAreToldTo) {
  MakeVolume();
  auto running = Start();
  ASSERT_TRUE(running.ok()) << running.status();
  {
    init::TestAgent agent(std::move(running->channel));
    Run(agent, "mkdir -p a/b; echo x >a/b/file; chmod 000 a/b a; mkdir $'\\xff'");
  }
  const auto data = runner_.Await(runtime_->OpenVolume(volume_));
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_TRUE(runner_.Await(runtime_->Remove(container_)).ok());

  ASSERT_TRUE(runner_.Await(runtime_->RemoveVolume(volume_)).ok());

  EXPECT_TRUE(List().volumes.empty());
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(runtime_->OpenVolume(volume_)).status()));
  EXPECT_FALSE(IsDeleted(*data)) << "who removes it waited for all of its files";
  EXPECT_TRUE(runner_.Await(runtime_->EmptyRemoved()).ok());
  EXPECT_TRUE(IsDeleted(*data));
}

TEST_P(ContainerRuntimeTest, AVolumesDataIsHandedOverByPathOnly) {
  MakeVolume();
  const auto data = runner_.Await(runtime_->OpenVolume(volume_));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_NE(::fcntl(data->get(), F_GETFL) & O_PATH, 0);
  struct stat info{};
  ASSERT_EQ(::fstat(data->get(), &info), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
}

TEST_P(ContainerRuntimeTest, AContainersLayerIsHandedOverAndAMissingOnesIsNot) {
  MakeVolume();
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(OpenTree(*runtime_, container_)).status()));
  ASSERT_TRUE(Start().ok());
  const auto layer = runner_.Await(OpenTree(*runtime_, container_));
  ASSERT_TRUE(layer.ok()) << layer.status();
  EXPECT_NE(::fcntl(layer->get(), F_GETFL) & O_PATH, 0);
  struct stat of_layer{};
  struct stat of_volume{};
  ASSERT_EQ(::fstat(layer->get(), &of_layer), 0);
  ASSERT_EQ(::fstat(runner_.Await(OpenTree(*runtime_, volume_))->get(), &of_volume), 0);
  EXPECT_TRUE(S_ISDIR(of_layer.st_mode));
  EXPECT_NE(of_layer.st_ino, of_volume.st_ino);
}

TEST_P(ContainerRuntimeTest, OldImagesAreListedAndOneThatIsGoneIsNoErrorToRemove) {
  EXPECT_TRUE(runner_.Await(runtime_->ListOldImages()).ok());
  EXPECT_TRUE(runner_.Await(runtime_->RemoveImage(std::string(64, '0'))).ok());
}

TEST_P(ContainerRuntimeTest, AMissingVolumeIsNotMadeUp) {
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(runtime_->OpenVolume(volume_)).status()));
  EXPECT_TRUE(absl::IsNotFound(Start().status()));
  const EngineObjects objects = List();
  EXPECT_TRUE(objects.volumes.empty());
  EXPECT_TRUE(objects.containers.empty());
}

TEST_P(ContainerRuntimeTest, AnInitThatDiesIsSeenAndCanBeStartedAgain) {
  MakeVolume();
  const auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, first->init_pidfd.get(), SIGKILL, nullptr, 0), 0);
  pollfd ended{first->init_pidfd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, kTestPatienceMs), 1);

  // At once: the engine may not have noticed yet.
  const auto second = Start();

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->init_pid, first->init_pid);
}

TEST_P(ContainerRuntimeTest, SeveralSandboxesStartAtOnce) {
  std::vector<EngineName> volumes;
  std::vector<std::future<absl::StatusOr<RunningContainer>>> starts;
  for (int i = 0; i < 4; ++i) {
    volumes.push_back(EngineName::Make(SystemRandom()));
    ASSERT_TRUE(runner_.Await(runtime_->CreateVolume(volumes.back(), "b")).ok());
  }
  for (const EngineName& volume : volumes) {
    const EngineName name = EngineName::Make(SystemRandom());
    starts.push_back(runner_.Begin(runtime_->Start(name, volume, "amber-otter")));
  }
  for (auto& start : starts) {
    const auto running = start.get();
    EXPECT_TRUE(running.ok()) << running.status();
  }
  EXPECT_EQ(List().containers.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Engines, ContainerRuntimeTest, testing::Values("fake", "podman"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace sandkeep
