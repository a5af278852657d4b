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

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "agent/runtime/podman_runtime.h"
#include "common/random.h"
#include "common/strings.h"
#include "tests/fakes/await.h"
#include "tests/fakes/fake_runtime.h"
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

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

PodmanOptions TestOptions(InstanceId instance, const fs::path& state) {
  PodmanOptions options(std::move(instance));
  options.init_path = Variable("SANDKEEP_TEST_INIT");
  options.state_dir = state.string();
  options.home = Variable("HOME");
  options.runtime_dir = Variable("XDG_RUNTIME_DIR");
  if (const std::string image = Variable("SANDKEEP_TEST_IMAGE"); !image.empty()) {
    options.image = image;
  }
  return options;
}

std::string WhyNoPodman() {
  if (Variable("SANDKEEP_TEST_INIT").empty()) return "SANDKEEP_TEST_INIT isn't set";
  if (Variable("HOME").empty() || Variable("XDG_RUNTIME_DIR").empty()) {
    return "HOME and XDG_RUNTIME_DIR must be those of the engine's user";
  }
  if (::geteuid() == 0) return "podman is rootless: run this as the engine's user";
  return "";
}

class PodmanEngineUnderTest : public Engine {
 public:
  PodmanEngineUnderTest() {
    char folder[] = "/tmp/sandkeep-contract-state.XXXXXX";
    if (::mkdtemp(folder) != nullptr) state_ = folder;
    fs::permissions(state_, static_cast<fs::perms>(0711));
  }
  ~PodmanEngineUnderTest() override { fs::remove_all(state_); }

  std::string WhyNot() override { return WhyNoPodman(); }
  ContainerRuntime& NewAgent(AsyncRunner& runner) override {
    runtimes_.push_back(MakePodmanRuntime(runner.executor(), TestOptions(instance_, state_)));
    return *runtimes_.back();
  }

 private:
  InstanceId instance_ = InstanceId::Random(SystemRandom());
  fs::path state_;
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

  ASSERT_TRUE(runner_.Await(runtime_->Stop(container_)).ok());

  EXPECT_FALSE(IsAlive(first->init_pidfd));
  EXPECT_EQ(StateOf(container_), ContainerState::kStopped);
  auto second = Start();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->init_pid, first->init_pid);
  init::TestAgent agent(std::move(second->channel));
  EXPECT_EQ(Run(agent, "echo hello"), "hello\n");
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
  EXPECT_EQ(List().volumes.size(), 1u);
  EXPECT_EQ(StateOf(container_), ContainerState::kRunning);
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
  ASSERT_EQ(::poll(&ended, 1, 10000), 1);

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

// ---- What only a real engine has ----

class PodmanRuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoPodman(); !reason.empty()) GTEST_SKIP() << reason;
    char folder[] = "/tmp/sandkeep-contract-state.XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    state_ = folder;
    fs::permissions(state_, static_cast<fs::perms>(0711));
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
