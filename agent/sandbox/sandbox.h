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

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/jobs/job_table.h"
#include "agent/runtime/container_runtime.h"
#include "agent/sandbox/activity.h"
#include "agent/sandbox/disk_terms.h"
#include "agent/sandbox/pool.h"
#include "agent/sandbox/principal_use.h"
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
  Pool& pool;
  const ManagerLimits& limits;
  std::string state_dir;
};

// What others may know of a sandbox without waiting for its strand.
struct SandboxView {
  SandboxSnapshot snapshot;
  // Of its jobs' output: what is kept, and when the first job ended whose output could go.
  std::int64_t output_bytes = 0;
  absl::Time oldest_output = absl::InfiniteFuture();
  bool recorded = false;  // It has a row: before that it isn't there for anybody.
  Activity activity = {};
  absl::Time busy_since = absl::InfinitePast();
  Clock::Monotonic state_since = {};
  bool for_room = false;  // Frozen although something goes on in it.
  // It may run, whatever its state says; looked at again when that is due.
  bool has_place = false;
  Clock::Monotonic retry_due = {};
  std::optional<EngineName> container = std::nullopt;
  DiskUse disk = {};
  bool paused = false;  // What ran in it waits for room on the disk.
};

// What the store keeps of it for the next agent.
DiskRow DiskRowOf(const SandboxView& view);

class Sandbox : public std::enable_shared_from_this<Sandbox>, private JobTableEvents {
 public:
  // `recorded`: the row is in the store and the volume exists. `warm`: a container of the pool, and
  // the row's volume is its volume.
  Sandbox(const SandboxContext& context, SandboxRow row, bool recorded, std::vector<JobRow> jobs,
          std::optional<WarmContainer> warm = std::nullopt);

  const SandboxKey& key() const { return key_; }
  const PrincipalId& principal() const { return principal_; }
  const Label& label() const { return label_; }
  const EngineName& volume() const { return volume_; }
  const Generation& generation() const { return generation_; }
  SandboxView View() const;
  // Without a copy: for looks at every sandbox by the clock. `look` is called under a mutex, and
  // only looks.
  template <typename Look>
  auto Peek(Look look) const {
    const std::lock_guard lock(view_mutex_);
    const HoldCount::Now holds = holds_->now();
    view_.activity.holds = holds.count;
    view_.activity.last_hold = holds.last;
    return look(std::as_const(view_));
  }

  // Aborted: the sandbox was forgotten meanwhile, look for it again.
  Async<StartedJob> StartJob(JobSpec spec);
  Async<WatchedJob> WatchJob(std::optional<JobId> id, std::int64_t from_offset, bool follow);
  // From any thread, at once.
  std::optional<SettledJob> FindSettled(const JobId& id) const { return jobs_->FindSettled(id); }
  Async<std::vector<JobSnapshot>> ListJobs(int limit);
  Async<std::int64_t> SendInput(JobId id, std::string data, bool end);
  Async<JobSnapshot> SignalJob(JobId id, int signal, absl::Duration grace);
  Async<RemovedSandbox> Remove(bool remove_volume);
  // With its files, if it wasn't used since then and nothing goes on. Aborted: it was, or does.
  Async<void> RemoveUnused(absl::Time last_used);
  // Old files of it went from outside: a look, no use.
  Async<void> FilesExpired();
  // Stops what runs in it, but for commands that begin later: they are to make room. If `charged`
  // says that they don't, they are stopped too. An empty reason: only if it is paused already.
  Async<void> PauseJobs(std::string reason, std::int64_t charged);
  Async<void> GoOn();
  // As the last agent left it.
  bool was_paused() const { return was_paused_; }
  // From any thread, at once.
  void NoteDiskUse(const DiskUse& use);
  // There is a workspace to write to: a sandbox that never was is made. Aborted: as StartJob.
  Async<Arrival> ReadyForFiles();
  // Somebody wrote to the workspace from outside.
  Async<void> FilesChanged();
  // The file takes its place, and is there as long as the sandbox is. NotFound: that is just being
  // removed with its files.
  Async<TakenFile> CommitFile(std::shared_ptr<PendingFile> file, TakeTerms terms);

  // What is under way from outside keeps it from being frozen as long as this lives.
  std::shared_ptr<void> Hold() const { return MakeHold(holds_); }

  // Freezes it if it can give up its place, whatever was left behind in it; one that goes by
  // SANDBOX_RECYCLE=remove is removed, if that ends nothing. False: it is busy, or somebody works
  // on it.
  Async<bool> MakeRoom();
  Async<void> FreezeNow();
  Async<void> ThawNow();
  // The edges of an idle one; each looks again whether it still is. False: it isn't.
  Async<bool> FreezeIdle();
  Async<bool> StopFrozen();
  Async<bool> RemoveIdle();
  // Before the machine goes down: what runs waits where it is; then it ends, and packages stay.
  Async<void> HoldStill();
  Async<void> EndForGood();
  // One that was frozen to make room goes on if there is a place, without taking anybody's.
  Async<bool> Resume();
  // It was paused behind the agent's back, and somebody waits for it: it goes on.
  Async<void> GoOnIfPaused();
  // Finds out what is left of a broken one.
  Async<bool> SettleBroken();

  // Writes its binding beside its volume, which came from the pool.
  Async<void> Bind() { return context_.runtime.BindVolume(volume_, BindingText()); }
  // It won't be used: somebody else was quicker.
  void GiveBackWarm();

  // At the agent's start: takes over the container that the row names, in the state that the engine
  // says (nullopt: it is gone).
  Async<void> Adopt(std::optional<ContainerState> found);
  // JOB_KEEP.
  Async<void> ForgetJobs(absl::Time ended_before);
  // JOBS_DISK. A command that prints is no activity: its view is as old as its start.
  Async<void> LookAgain();
  Async<void> ForgetOldestOutput();
  // False: its running commands hold no more than they always may.
  Async<bool> NarrowOutput();

 private:
  struct SharedStart;
  struct Wait;
  class CallGuard;
  class CommitGuard;
  class RestGuard;

  // ---- sandbox_calls.cc: the calls ----
  Async<StartedJob> StartJobHere(JobSpec spec);
  Async<StartedJob> Rejoin(JobSnapshot job);
  boost::asio::awaitable<void> ForgetUnused();
  StartedJob Started(JobSnapshot job, Arrival arrival, absl::Time last_used_before,
                     std::unique_ptr<JobWatcher> watcher);
  absl::StatusOr<std::unique_ptr<JobWatcher>> WatchHeld(const JobId& id, std::int64_t from_offset,
                                                        bool follow);
  absl::StatusOr<std::shared_ptr<Wait>> TakeWait();
  std::unique_ptr<JobWatcher> HoldWith(std::shared_ptr<Wait> wait,
                                       std::unique_ptr<JobWatcher> watcher);
  Async<WatchedJob> WatchJobHere(std::optional<JobId> id, std::int64_t from_offset, bool follow);
  Async<std::vector<JobSnapshot>> ListJobsHere(int limit);
  Async<std::int64_t> SendInputHere(JobId id, std::string data, bool end);
  Async<JobSnapshot> SignalJobHere(JobId id, int signal, absl::Duration grace);
  Async<Arrival> ReadyForFilesHere();
  Async<void> FilesChangedHere();
  Async<TakenFile> CommitFileHere(std::shared_ptr<PendingFile> file, TakeTerms terms);

  // ---- sandbox.cc: what is known of it ----
  Async<void> ForgetJobsHere(absl::Time ended_before);
  Async<void> LookAgainHere();
  Async<void> ForgetOldestOutputHere();
  Async<bool> NarrowOutputHere();
  Async<void> Touch(absl::Time now);
  void TouchSoon();
  boost::asio::awaitable<void> WriteTouch(absl::Time used);
  Activity ActivityNow() const;
  void Publish();
  void OnActivity() override;

  // ---- sandbox_start.cc: the container comes up; under the lock but for EnsureRunning ----
  Async<Arrival> EnsureRunning();
  Async<Arrival> StartLocked();
  absl::StatusOr<Arrival> Running(absl::StatusOr<Arrival> arrival);
  Async<Arrival> Wake(SandboxState from);
  Async<Arrival> Create();
  Async<void> TryCreate();
  Async<void> UndoCreate();
  Async<void> UseWarm();
  std::string BindingText() const;
  Async<void> PrepareDisk();
  // Left in state `otherwise` when there is no place.
  Async<void> TakeSlot(SandboxState otherwise);
  void ReleaseSlot();
  Async<void> Launch();
  Async<void> AttachRunning();
  Async<void> TakeOver(RunningContainer running, Outcome lost);

  // ---- sandbox_rest.cc: it waits, and goes on; under the lock but for the public ones' ----
  Async<bool> MakeRoomHere();
  Async<void> FreezeNowHere();
  Async<void> ThawNowHere();
  Async<bool> FreezeIdleHere();
  Async<bool> StopFrozenHere();
  Async<bool> RemoveIdleHere();
  Async<bool> ResumeHere();
  Async<void> GoOnIfPausedHere();
  Async<void> HoldStillHere();
  Async<void> EndForGoodHere();
  // For its own rest: what is installed in it is noted first, which may take a moment.
  Async<void> FreezeUnused();
  Async<void> FreezeLocked(bool for_room);
  Async<void> SuspendContainer();
  Async<void> ThawContainer();
  Async<void> StopLocked(Outcome lost);
  Async<void> RecordRest(Rest rest);
  void ForgetRest();
  boost::asio::awaitable<void> WriteRest(Rest rest, absl::Time since);

  // Notes how what was installed comes back, as long as the container is there to be asked.
  boost::asio::awaitable<void> NotePackages();

  // ---- sandbox_disk.cc: what it takes of the disk ----
  Async<void> RemoveUnusedHere(absl::Time last_used);
  Async<void> FilesExpiredHere();
  Async<void> PauseJobsHere(std::string reason, std::int64_t charged);
  Async<void> GoOnHere();

  // ---- sandbox_broken.cc: its container can't be used as it is; under the lock ----
  void OnInitBroken(absl::Status why) override;
  void SetBroken(bool died);
  void RetryLater();
  boost::asio::awaitable<void> Retire();
  Async<bool> SettleBrokenHere();
  Async<void> SettleAlone();
  Async<void> Settle();
  Async<void> KeepStopped();
  Async<ContainerState> LookForContainer();
  boost::asio::awaitable<void> NotWoken(SandboxState from, absl::Status why, bool had_place);
  boost::asio::awaitable<void> FreezeAgain(bool had_place);
  Async<Arrival> Replace();
  Async<void> RemoveReplaced();

  // ---- sandbox_life.cc: it goes away, and is found again ----
  Async<RemovedSandbox> RemoveHere(bool remove_volume);
  Async<void> RemoveContainer(Outcome lost);
  boost::asio::awaitable<void> EndJobs(Outcome lost);
  boost::asio::awaitable<void> CloseVolume();
  bool MayHoldFiles() const;
  Async<void> ForgetWithVolume();
  Async<void> ForgetSelf();
  Async<void> AdoptHere(std::optional<ContainerState> found);
  Async<void> AdoptResting();
  Async<void> NotAdopted(absl::Status why, bool rested);
  boost::asio::awaitable<void> NoteRest(Rest rest);
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
  Clock& clock_;
  const SandboxKey key_;
  const PrincipalId principal_;
  const Label label_;
  const EngineName volume_;
  const Generation generation_;
  const bool was_paused_;
  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<std::atomic<std::uint64_t>> changes_;  // The registry's.

  // On the strand only.
  SandboxRow row_;
  SandboxState state_ = SandboxState::kAbsent;
  bool recorded_;
  bool volume_exists_;
  bool forgotten_ = false;
  bool volume_closed_ = false;  // It is being removed: no file takes its place in it.
  bool files_taken_ = false;    // One has, whether the store knows it or not.
  bool has_slot_ = false;
  bool attached_ = false;  // The jobs have the channel of the container's init.
  bool init_broken_ = false;
  bool init_died_ = false;           // It broke off by dying: what it leaves may be started again.
  bool ran_ = false;                 // A command did, since the container was made or taken over.
  bool files_lost_ = false;          // Its volume was gone, and the next result says so.
  bool made_anew_ = false;           // The last start found no container.
  std::function<bool()> is_frozen_;  // By the kernel; empty: nobody can tell.
  bool frozen_by_init_ = false;      // This host's kernel doesn't freeze for us.
  bool for_room_ = false;
  bool packages_noted_ = false;  // As they are: it hasn't run since.
  // The other container of its volume, to be removed: no row names it.
  std::optional<EngineName> replaced_;
  int failures_ = 0;  // In a row: of looking after it, and of starting a stopped one.
  int wake_failures_ = 0;
  Clock::Monotonic retry_due_;
  int resting_ = 0;  // Being frozen, stopped or removed: a call waits for the lock.
  int calls_ = 0;
  int commits_ = 0;       // Files that are taking their place.
  int running_jobs_ = 0;  // As last seen.
  int left_behind_ = 0;
  Clock::Monotonic last_call_;
  Clock::Monotonic left_since_;
  Clock::Monotonic state_since_;
  absl::Time touched_;                // last_used as it stands in the store.
  std::vector<std::string> cut_off_;  // Heads of commands that ended with their container.
  std::string pause_reason_;          // Empty: nothing is paused.
  absl::Time pause_until_;            // What began later runs.
  std::int64_t pause_charged_ = 0;    // What it took of the disk then.
  std::optional<WarmContainer> warm_;
  StrandLock lock_;
  StrandSignal commits_done_;
  std::shared_ptr<SharedStart> start_;
  const std::unique_ptr<JobTable> jobs_;
  const std::shared_ptr<HoldCount> holds_;
  const std::shared_ptr<PrincipalUse> use_;

  mutable std::mutex view_mutex_;
  mutable SandboxView view_;  // Its holds are as of the last look.
};

// As long as one lives, a call that would use the running container waits for the lock.
class Sandbox::RestGuard {
 public:
  explicit RestGuard(Sandbox& sandbox);
  RestGuard(const RestGuard&) = delete;
  RestGuard& operator=(const RestGuard&) = delete;
  ~RestGuard();

 private:
  Sandbox& sandbox_;
};

}  // namespace sandkeep
