#include "tests/unit/agent/sandbox/agent_fixture.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "agent/file_process/file_process.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

Async<JobEvent> NextOf(JobWatcher& watcher) { return watcher.Next(); }

std::string MakeFolder(const std::string& name) {
  std::string pattern = StrCat(testing::TempDir(), name, "-XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  return pattern;
}

// Root is in no list of subordinate ids, and needs none.
void WriteMapper(const std::string& path, std::string_view map) {
  std::ofstream(path) << "#!/bin/sh\necho $2 $3 $4 >/proc/$1/" << map << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

AgentTest::AgentTest() {
  state_dir_ = MakeFolder("agent");
  tools_dir_ = MakeFolder("tools");
  WriteMapper(tools_dir_ + "/newuidmap", "uid_map");
  WriteMapper(tools_dir_ + "/newgidmap", "gid_map");
  std::ofstream(tools_dir_ + "/ids") << "root:100000:65536\n";
  limits_.min_free_bytes = 0;
  limits_.disk_interval = absl::InfiniteDuration();
}

bool AgentTest::HasFiles() { return ::geteuid() == 0; }

FileProcessOptions AgentTest::FilesOptions() const {
  return {.program = SANDKEEP_FILES_EXECUTABLE,
          .newuidmap = tools_dir_ + "/newuidmap",
          .newgidmap = tools_dir_ + "/newgidmap",
          .subuid_file = tools_dir_ + "/ids",
          .subgid_file = tools_dir_ + "/ids"};
}

AgentTest::~AgentTest() {
  Die();
  std::filesystem::remove_all(state_dir_);
  std::filesystem::remove_all(tools_dir_);
}

void AgentTest::SetUp() {
  const auto probe = InitProcess::Start();
  if (!probe.ok()) GTEST_SKIP() << probe.status();
  Boot();
}

void AgentTest::Boot() {
  BootWithoutRecovery();
  const absl::Status recovered = Wait(agent_->manager->Recover());
  ASSERT_TRUE(recovered.ok()) << recovered;
}

void AgentTest::BootWithoutRecovery() {
  agent_ = std::make_unique<Agent>();
  auto store = OpenStore(state_dir_);
  ASSERT_TRUE(store.ok()) << store.status();
  agent_->store = *std::move(store);
  const VolumeOpener opener = [this](EngineName name) { return OpenTree(runtime_, name); };
  agent_->files = MakeFileProcess(agent_->io.get_executor(), FilesOptions(), opener);
  auto manager = MakeSandboxManager(agent_->io.get_executor(), runtime_, *agent_->files,
                                    *agent_->store, clock_, random_, limits_, state_dir_);
  ASSERT_TRUE(manager.ok()) << manager.status();
  agent_->manager = *std::move(manager);
  for (int i = 0; i < 2; ++i) {
    agent_->threads.emplace_back([io = &agent_->io] { io->run(); });
  }
}

void AgentTest::Die() {
  if (!agent_) return;
  agent_->io.stop();
  for (std::thread& thread : agent_->threads) thread.join();
  runtime_.Abandon();
  agent_->manager.reset();
  agent_->files.reset();
  agent_->store.reset();
  agent_.reset();
}

JobSpec AgentTest::Command(std::string text) {
  JobSpec spec{.id = JobId::Random(random_),
               .command = std::move(text),
               .cwd = "",
               .env = {},
               .stdin_text = ""};
  return spec;
}

absl::StatusOr<StartedJob> AgentTest::Start(const PrincipalId& principal, std::string label,
                                            std::string command) {
  return Wait(manager().StartJob(principal, std::move(label), Command(std::move(command))));
}

absl::StatusOr<Result> AgentTest::Run(const PrincipalId& principal, std::string label,
                                      std::string command) {
  ASSIGN_OR_RETURN(StartedJob started, Start(principal, label, std::move(command)));
  Outcome outcome;
  std::string output = ReadToEnd(*started.watcher, &outcome);
  EXPECT_TRUE(BecomesIdle(RefOf(principal, std::move(label))));
  return Result{
      .started = std::move(started), .output = std::move(output), .outcome = std::move(outcome)};
}

std::string AgentTest::OutputOf(const PrincipalId& principal, std::string label,
                                std::string command) {
  const absl::StatusOr<Result> result = Run(principal, std::move(label), std::move(command));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->output : "";
}

void AgentTest::AwaitRecords() {
  const auto end = std::chrono::steady_clock::now() + kTestPatience;
  for (;;) {
    const absl::StatusOr<std::vector<JobRow>> rows = Wait(agent_->store->LoadJobs());
    ASSERT_TRUE(rows.ok()) << rows.status();
    const bool all = std::all_of(rows->begin(), rows->end(),
                                 [](const JobRow& row) { return row.state == JobState::kEnded; });
    if (all) return;
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "an end isn't recorded";
  }
}

std::string AgentTest::ReadToEnd(JobWatcher& watcher, Outcome* outcome) {
  std::string output;
  for (;;) {
    absl::StatusOr<JobEvent> event = Wait(NextOf(watcher));
    EXPECT_TRUE(event.ok()) << event.status();
    if (!event.ok() || event->kind == JobEvent::Kind::kEndOfWhatThereIs) return output;
    if (event->kind == JobEvent::Kind::kOutput) output += event->output.data;
    if (event->kind != JobEvent::Kind::kOutcome) continue;
    *outcome = event->outcome;
    return output;
  }
}

void AgentTest::ReadUntil(JobWatcher& watcher, std::string_view text) {
  std::string output;
  while (output.find(text) == std::string::npos) {
    absl::StatusOr<JobEvent> event = Wait(NextOf(watcher));
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_NE(event->kind, JobEvent::Kind::kOutcome) << output;
    output += event->output.data;
  }
}

SandboxRef AgentTest::RefOf(const PrincipalId& principal, std::string label) {
  return SandboxRef{.principal = principal, .label = std::move(label), .key = std::nullopt};
}

bool AgentTest::Becomes(const SandboxRef& ref, SandboxState state) {
  auto so = [](const SandboxSnapshot& now, SandboxState wanted) { return now.state == wanted; };
  return BecomesSo(ref, so, state);
}

bool AgentTest::BecomesInTime(const SandboxRef& ref, SandboxState state) {
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto snapshot = manager().Get(ref);
    if (snapshot.ok() && snapshot->state == state) return true;
    clock_.Advance(absl::Milliseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool AgentTest::BecomesIdle(const SandboxRef& ref) {
  auto so = [](const SandboxSnapshot& now, SandboxState) { return !now.busy; };
  return BecomesSo(ref, so, SandboxState::kRunning);
}

bool AgentTest::BecomesSo(const SandboxRef& ref, bool (*so)(const SandboxSnapshot&, SandboxState),
                          SandboxState state) {
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto snapshot = manager().Get(ref);
    if (snapshot.ok() && so(*snapshot, state)) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace sandkeep
