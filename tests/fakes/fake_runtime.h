// A container engine for tests: containers are the real sandkeep-init in namespaces of its own,
// volumes are folders with the binding beside the data. Every call can be made to fail, to hang
// until it is released, or to do its work and fail nevertheless, as when the agent dies in it.
//
// It outlives the agents of a test, as an engine does: a second manager finds what the first one
// left. Calls resume on the caller's executor; scripts may be written from any thread.
//
//   runtime.Fail(EngineCall::kStart, absl::UnavailableError("engine down"));
//   runtime.Hold(EngineCall::kStart);  …  runtime.WaitForCalls(EngineCall::kStart, 1);  …  Release
#pragma once

#include <signal.h>

#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "common/pending.h"
#include "tests/fakes/init_process.h"

namespace sandkeep {

enum class EngineCall {
  kProbe,
  kCreateVolume,
  kBindVolume,
  kOpenVolume,
  kStart,
  kAttach,
  kStop,
  kRemove,
  kFreeze,
  kThaw,
  kListOurs,
  kRemoveVolume,
  kEmptyRemoved,
};

class FakeRuntime : public ContainerRuntime {
 public:
  FakeRuntime();
  ~FakeRuntime() override;

  // ---- The script ----
  // The next `times` calls fail without having done anything.
  void Fail(EngineCall call, absl::Status status, int times = 1);
  // The next call does its work, then fails.
  void FailAfterwards(EngineCall call, absl::Status status);
  // Calls wait before they do anything, until Release.
  void Hold(EngineCall call);
  void Release(EngineCall call);
  // One that was replaced, and that nothing uses.
  void AddOldImage(OldImage image);
  // Nothing fails any more. What is held stays so.
  void Heal();
  // Ends the calls that are under way for an agent that has just died: nothing resumes on its
  // executor afterwards. Its threads have stopped.
  void Abandon();

  // ---- Behind the agent's back ----
  // The init dies; the container stands there stopped.
  void Kill(const EngineName& container);
  // As `podman pause`.
  void PauseBehind(const EngineName& container) {
    SignalAll(container, SIGSTOP, true).IgnoreError();
  }
  // As `podman rm -f`.
  void RemoveBehind(const EngineName& container);
  // As `podman volume rm -f`, its containers too.
  void RemoveVolumeBehind(const EngineName& volume);
  // Writes another binding beside a volume; empty: none is left.
  void SetBinding(const EngineName& volume, std::string binding);
  // As after the machine's restart: every init is dead.
  void Reboot();

  // ---- What happened ----
  int calls(EngineCall call) const;
  // Blocks the test until so many calls came; false after ten seconds.
  bool WaitForCalls(EngineCall call, int count) const;
  std::vector<EngineName> containers() const;
  std::vector<EngineName> volumes() const;
  // As it was started with.
  std::string hostname(const EngineName& container) const;
  // Of running containers.
  std::vector<EngineName> running() const;
  std::string binding(const EngineName& volume) const;
  std::filesystem::path data(const EngineName& volume) const;
  // Of how many removed volumes there are files left.
  std::size_t removed() const {
    const std::lock_guard lock(mutex_);
    using Entries = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Entries(removed_), Entries()));
  }
  // What a container is said to have written outside its volume: nothing, but what tests put there.
  std::filesystem::path layer(const EngineName& container) const;

  Async<EngineInfo> Probe() override;
  Async<void> CreateVolume(EngineName volume, std::string binding) override;
  Async<void> BindVolume(EngineName volume, std::string binding) override;
  Async<UniqueFd> OpenVolume(EngineName volume) override;
  Async<UniqueFd> OpenLayer(EngineName container) override;
  Async<RunningContainer> Start(EngineName container, EngineName volume,
                                std::string hostname) override;
  Async<RunningContainer> Attach(EngineName container) override;
  Async<void> Stop(EngineName container) override;
  Async<void> Remove(EngineName container) override;
  Async<void> Freeze(EngineName container) override;
  Async<void> Thaw(EngineName container) override;
  Async<EngineObjects> ListOurs() override;
  Async<void> RemoveVolume(EngineName volume) override;
  Async<void> EmptyRemoved() override;
  Async<std::vector<OldImage>> ListOldImages() override;
  Async<void> RemoveImage(std::string id) override;

 private:
  struct Container {
    EngineName volume;
    std::string hostname;
    std::unique_ptr<InitProcess> init;  // None: stopped.
    bool frozen = false;
  };
  struct Script {
    int calls = 0;
    int failures = 0;
    absl::Status failure;
    std::optional<absl::Status> afterwards;
    bool held = false;
    std::vector<std::shared_ptr<Pending<bool>>> waiting;
  };

  // Counts, waits while held, and answers with the scripted failure.
  Async<void> Enter(EngineCall call);
  absl::Status Leave(EngineCall call, absl::Status done);
  std::shared_ptr<Pending<bool>> Count(EngineCall call);
  absl::Status TakeFailure(EngineCall call);

  // On the engine's thread, under the lock.
  absl::StatusOr<RunningContainer> StartHere(const EngineName& name, const EngineName& volume,
                                             const std::string& hostname);
  absl::StatusOr<RunningContainer> Running(const EngineName& name) const;
  bool IsFrozen(const EngineName& name) const;
  absl::Status SignalAll(const EngineName& name, int signal, bool frozen);
  absl::Status RemoveVolumeHere(const EngineName& volume);
  absl::Status EmptyRemovedHere();
  EngineObjects ListHere() const;
  std::filesystem::path folder(const EngineName& volume) const;

  std::filesystem::path root_;
  std::filesystem::path removed_;
  mutable std::mutex mutex_;
  mutable std::condition_variable called_;
  std::map<EngineCall, Script> scripts_;
  std::map<EngineName, Container> containers_;
  std::vector<OldImage> old_images_;
  // Inits die with the thread that started them.
  boost::asio::thread_pool engine_{1};
};

}  // namespace sandkeep
