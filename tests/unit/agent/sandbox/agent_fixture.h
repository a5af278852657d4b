// An agent's heart on a fake engine: store, jobs and inits are real. It can die at any moment and
// be followed by another one, over the same state folder and engine.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/sandbox/sandbox_manager.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"
#include "tests/fakes/fake_runtime.h"
#include "tests/fakes/patience.h"

namespace sandkeep {

// What a command printed, and how it ended.
struct Result {
  StartedJob started;
  std::string output;
  Outcome outcome;
};

class AgentTest : public testing::Test {
 protected:
  AgentTest();
  ~AgentTest() override;

  void SetUp() override;

  // Files of sandboxes can be used here: it takes root, who maps the ids of FakeRuntime's inits.
  static bool HasFiles();

  // A new agent, recovered or not yet.
  void Boot();
  void BootWithoutRecovery();
  // As kill -9: nothing is written, said or awaited. A test lets go of its watchers before.
  void Die();
  SandboxManager& manager() { return *agent_->manager; }

  template <typename T>
  std::future<T> Begin(boost::asio::awaitable<T> call) {
    return boost::asio::co_spawn(agent_->io, std::move(call), boost::asio::use_future);
  }
  template <typename T>
  T Wait(std::future<T> future) {
    if (future.wait_for(kTestPatience) != std::future_status::ready) {
      ADD_FAILURE() << "no answer";
      std::abort();  // The coroutine would use what the test is about to destroy.
    }
    return future.get();
  }
  template <typename T>
  T Wait(boost::asio::awaitable<T> call) {
    return Wait(Begin(std::move(call)));
  }

  JobSpec Command(std::string text);
  absl::StatusOr<StartedJob> Start(const PrincipalId& principal, std::string label,
                                   std::string command);
  // To its end, and until its sandbox is idle.
  absl::StatusOr<Result> Run(const PrincipalId& principal, std::string label, std::string command);
  std::string OutputOf(const PrincipalId& principal, std::string label, std::string command);
  std::string ReadToEnd(JobWatcher& watcher, Outcome* outcome);
  // Until it printed `text`: the command is under way.
  void ReadUntil(JobWatcher& watcher, std::string_view text);
  static SandboxRef RefOf(const PrincipalId& principal, std::string label);

  // Waits until the sandbox is in this state, or has nothing to do.
  bool Becomes(const SandboxRef& ref, SandboxState state);
  bool BecomesIdle(const SandboxRef& ref);
  // Until the ends of all commands are in the store: an agent that dies before that knows of none,
  // and a frozen init can't tell the next one.
  void AwaitRecords();
  // The clock goes on meanwhile: a tenth of a second each millisecond.
  bool BecomesInTime(const SandboxRef& ref, SandboxState state);

  const PrincipalId alice_ = *PrincipalId::Parse("key-alice");
  const PrincipalId bob_ = *PrincipalId::Parse("key-bob");
  std::string state_dir_;
  ManagerLimits limits_;
  FakeClock clock_;
  FakeRandom random_;
  FakeRuntime runtime_;

 private:
  struct Agent {
    boost::asio::io_context io{2};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
        io.get_executor()};
    std::unique_ptr<Store> store;
    std::unique_ptr<FileProcess> files;
    std::unique_ptr<SandboxManager> manager;
    std::vector<std::thread> threads;
  };
  bool BecomesSo(const SandboxRef& ref, bool (*so)(const SandboxSnapshot&, SandboxState),
                 SandboxState state);

  FileProcessOptions FilesOptions() const;

  std::string tools_dir_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace sandkeep
