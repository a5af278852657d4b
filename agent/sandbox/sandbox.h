// One sandbox: its container's state, its jobs, and the one lock under which the engine is asked
// about it. Made by the registry, shared with the calls that use it. Public methods may be called
// from anywhere: each runs on the sandbox's strand, to its end even if the caller is cancelled, and
// resumes on the caller's executor.
//
//   absent → starting → running ⇄ frozen → stopped → absent       starting → absent (failed)
//   stopped → starting      any → broken → absent
//
// What holds, whatever dies when: the row names the container before the engine hears of it, and as
// long as it may exist; calls that come during a start share it and its error.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/jobs/job_table.h"
#include "agent/runtime/container_runtime.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/sandbox/strand_lock.h"
#include "agent/store/store.h"
#include "common/await_on.h"

namespace sandkeep {

class Capacity;
class Registry;

// What every sandbox uses; all of it outlives them.
struct SandboxContext {
  boost::asio::any_io_executor executor;
  boost::asio::any_io_executor disk;  // For what waits for the disk.
  ContainerRuntime& runtime;
  FileProcess& files;
  Store& store;
  Clock& clock;
  Random& random;
  Capacity& capacity;
  Registry& registry;
  const ManagerLimits& limits;
  std::string state_dir;
};

// Where the output of a sandbox's jobs is kept.
std::string SpoolFolder(const std::string& state_dir, const SandboxKey& key);

// What others may know of a sandbox without waiting for its strand.
struct SandboxView {
  SandboxSnapshot snapshot;
  // Of its jobs' output: what is kept, and when the first job ended whose output could go.
  std::int64_t output_bytes = 0;
  absl::Time oldest_output = absl::InfiniteFuture();
  bool recorded = false;  // It has a row: before that it isn't there for anybody.
};

class Sandbox : public std::enable_shared_from_this<Sandbox>, private JobTableEvents {
 public:
  // `recorded`: the row is in the store and the volume exists.
  Sandbox(const SandboxContext& context, SandboxRow row, bool recorded, std::vector<JobRow> jobs);

  const SandboxKey& key() const { return key_; }
  const PrincipalId& principal() const { return principal_; }
  const Label& label() const { return label_; }
  const EngineName& volume() const { return volume_; }
  const Generation& generation() const { return generation_; }
  SandboxView View() const;

  // Aborted: the sandbox was forgotten meanwhile, look for it again.
  Async<StartedJob> StartJob(JobSpec spec);
  Async<WatchedJob> WatchJob(std::optional<JobId> id, std::int64_t from_offset, bool follow);
  Async<std::vector<JobSnapshot>> ListJobs(int limit);
  Async<std::int64_t> SendInput(JobId id, std::string data, bool end);
  Async<JobSnapshot> SignalJob(JobId id, int signal, absl::Duration grace);
  Async<RemovedSandbox> Remove(bool remove_volume);
  // There is a workspace to write to: a sandbox that never was is made. Aborted: as StartJob.
  Async<Arrival> ReadyForFiles();
  // Somebody wrote to the workspace from outside.
  Async<void> FilesChanged();

  // At the agent's start: takes over the container that the row names, in the state that the engine
  // says (nullopt: it is gone).
  Async<void> Adopt(std::optional<ContainerState> found);
  // Removes the container if the sandbox isn't busy. False: it is, or somebody works on it.
  Async<bool> MakeRoom();
  // JOB_KEEP.
  Async<void> ForgetJobs(absl::Time ended_before);
  // JOBS_DISK. A command that prints is no activity: its view is as old as its start.
  Async<void> LookAgain();
  Async<void> ForgetOldestOutput();

 private:
  struct SharedStart;
  class CallGuard;

  // ---- sandbox.cc: the calls ----
  Async<StartedJob> StartJobHere(JobSpec spec);
  absl::StatusOr<StartedJob> Started(JobSnapshot job, Arrival arrival, absl::Time last_used_before);
  Async<WatchedJob> WatchJobHere(std::optional<JobId> id, std::int64_t from_offset, bool follow);
  Async<std::vector<JobSnapshot>> ListJobsHere(int limit);
  Async<std::int64_t> SendInputHere(JobId id, std::string data, bool end);
  Async<JobSnapshot> SignalJobHere(JobId id, int signal, absl::Duration grace);
  Async<Arrival> ReadyForFilesHere();
  Async<void> FilesChangedHere();
  Async<void> ForgetJobsHere(absl::Time ended_before);
  Async<void> LookAgainHere();
  Async<void> ForgetOldestOutputHere();
  Async<void> Touch(absl::Time now);
  void TouchSoon();
  boost::asio::awaitable<void> WriteTouch(absl::Time used);
  bool Busy() const;
  void Publish();
  void OnActivity() override;

  // ---- sandbox_start.cc: the container comes up; under the lock but for EnsureRunning ----
  Async<Arrival> EnsureRunning();
  Async<Arrival> StartLocked();
  Async<Arrival> Wake(SandboxState from);
  Async<Arrival> Create();
  Async<void> TryCreate();
  Async<void> UndoCreate();
  Async<void> PrepareDisk();
  // Left in state `otherwise` when there is no place.
  Async<void> TakeSlot(SandboxState otherwise);
  void ReleaseSlot();
  Async<void> Launch();
  Async<void> AttachRunning();
  Async<void> TakeOver(RunningContainer running, Outcome lost);

  // ---- sandbox_life.cc: it goes away, and is found again ----
  void OnInitBroken(absl::Status why) override;
  Async<RemovedSandbox> RemoveHere(bool remove_volume);
  Async<void> RemoveContainer(Outcome lost);
  boost::asio::awaitable<void> EndJobs(Outcome lost);
  Async<void> ForgetSelf();
  Async<void> AdoptHere(std::optional<ContainerState> found);
  Async<bool> MakeRoomHere();
  boost::asio::awaitable<void> Retire();
  void SetState(SandboxState state);
  void LogFailure(std::string_view event, const absl::Status& why) const;

  // Keeps the sandbox alive and its work whole while a caller may leave.
  template <typename T>
  static boost::asio::awaitable<T> Shield([[maybe_unused]] std::shared_ptr<Sandbox> self,
                                          boost::asio::awaitable<T> work) {
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    co_return co_await std::move(work);
  }
  template <typename T>
  boost::asio::awaitable<T> OnStrand(boost::asio::awaitable<T> work) {
    return AwaitOn(strand_, Shield(shared_from_this(), std::move(work)));
  }

  const SandboxContext& context_;
  const SandboxKey key_;
  const PrincipalId principal_;
  const Label label_;
  const EngineName volume_;
  const Generation generation_;
  const boost::asio::any_io_executor strand_;

  // On the strand only.
  SandboxRow row_;
  SandboxState state_ = SandboxState::kAbsent;
  bool recorded_;
  bool volume_exists_;
  bool forgotten_ = false;
  bool has_slot_ = false;
  bool init_broken_ = false;
  int calls_ = 0;
  int active_ = 0;                    // Jobs that run or left processes behind, as last seen.
  absl::Time touched_;                // last_used as it stands in the store.
  std::vector<std::string> cut_off_;  // Heads of commands that ended with their container.
  StrandLock lock_;
  std::shared_ptr<SharedStart> start_;
  std::unique_ptr<JobTable> jobs_;

  mutable std::mutex view_mutex_;
  SandboxView view_;
};

}  // namespace sandkeep
