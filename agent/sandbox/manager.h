// The SandboxManager: resolves what a call names, and hands it to that sandbox. Its own state is
// the registry and what it last heard of the engine, both behind mutexes that nobody holds across a
// wait; recovery and probing take turns on its strand.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sandbox/capacity.h"
#include "agent/sandbox/disk_book.h"
#include "agent/sandbox/disk_room.h"
#include "agent/sandbox/disk_terms.h"
#include "agent/sandbox/host.h"
#include "agent/sandbox/pool.h"
#include "agent/sandbox/reconcile.h"
#include "agent/sandbox/registry.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/sandbox/strand_lock.h"
#include "agent/sandbox/unjumping_clock.h"
#include "common/limits.h"
#include "common/secret.h"

namespace sandkeep {

class Manager : public SandboxManager {
 public:
  Manager(boost::asio::any_io_executor executor, ContainerRuntime& runtime, FileProcess& files,
          Store& store, Clock& clock, Random& random, ManagerLimits limits, std::string state_dir,
          Secret secret);
  ~Manager() override;

  Async<void> Recover() override;
  Async<StartedJob> StartJob(PrincipalId principal, std::string label, JobSpec spec) override;
  Async<WatchedJob> WatchJob(SandboxRef ref, std::optional<JobId> id, std::int64_t from_offset,
                             bool follow) override;
  absl::StatusOr<std::optional<SettledJob>> FindSettledJob(const SandboxRef& ref,
                                                           const JobId& id) const override;
  Async<std::vector<JobSnapshot>> ListJobs(SandboxRef ref, int limit) override;
  Async<std::int64_t> SendInput(SandboxRef ref, JobId id, std::string data, bool end) override;
  Async<JobSnapshot> SignalJob(SandboxRef ref, JobId id, int signal, absl::Duration grace) override;
  Async<std::vector<SandboxSnapshot>> List(std::optional<PrincipalId> principal) override;
  absl::StatusOr<SandboxSnapshot> Get(const SandboxRef& ref) const override;
  Async<RemovedSandbox> Remove(SandboxRef ref, bool remove_volume) override;
  Async<SandboxSnapshot> Freeze(SandboxRef ref) override;
  Async<SandboxSnapshot> Thaw(SandboxRef ref) override;
  Async<SandboxFile> StatFile(SandboxRef ref, RelPath path) override;
  Async<SandboxFile> OpenFile(SandboxRef ref, RelPath path) override;
  Async<FileListing> ListFiles(SandboxRef ref, FileQuery query) override;
  Async<SandboxNewFile> CreateFile(SandboxRef ref, RelPath path, NewFileSpec spec) override;
  Async<SandboxTakenFile> CommitFile(SandboxNewFile file, TakeTerms terms) override;
  Async<std::int64_t> DeleteFile(SandboxRef ref, RelPath path, bool recursive) override;
  Async<void> StopAll() override;
  Async<ManagerInfo> Info() override;
  Async<CollectedGarbage> CollectGarbage(bool dry_run) override;

 private:
  // ---- manager.cc: names ----
  absl::Status Ready() const;
  // The one place where a reference becomes a sandbox.
  absl::StatusOr<std::shared_ptr<Sandbox>> Resolve(const SandboxRef& ref) const;
  std::shared_ptr<Sandbox> FindNamed(const PrincipalId& principal, const Label& label) const;
  absl::StatusOr<std::shared_ptr<Sandbox>> FindOrMake(const PrincipalId& principal,
                                                      const Label& label);
  std::shared_ptr<Sandbox> MakeNew(const PrincipalId& principal, const Label& label);
  Async<EngineInfo> Engine();
  // What removed volumes held is deleted, while nobody waits for it.
  void EmptySoon() { Spawn(strand_, "manager.empty", EmptyRemoved()); }

  // ---- manager_files.cc ----
  Async<DiskRoom::Claim> ClaimRoom(std::int64_t size);
  // Before anything is made for it. nullptr: it has its room.
  Async<DiskRoom::Claim> ClaimRoomToBegin(SandboxRef ref, RelPath path, NewFileSpec spec);
  Async<Arrival> MakeReadyForFiles(const SandboxRef& ref);
  Async<EngineInfo> EngineHere();

  // ---- manager_recovery.cc ----
  Async<void> RecoverHere();
  boost::asio::awaitable<void> RetryRecovery();
  Async<void> DropWarm();
  Async<void> PlanAndCarryOut();
  boost::asio::awaitable<void> RemoveLeftovers();
  Async<RecoveryPlan> Plan();
  Async<void> CarryOut(RecoveryPlan plan);
  Async<void> RecordChanges(const RecoveryPlan& plan);
  Async<void> AddSandboxes(RecoveryPlan& plan);
  Async<void> AdoptAll(const RecoveryPlan& plan);
  Async<void> DropSpoolsOfNobody();
  boost::asio::awaitable<void> Sweep();
  boost::asio::awaitable<void> TrimOutput();
  boost::asio::awaitable<std::int64_t> LookAtOutput();
  boost::asio::awaitable<void> MakeRoomForOutput();
  Async<void> StopAllHere();
  boost::asio::awaitable<void> SayProblems();
  boost::asio::awaitable<void> ForgetOldJobs();
  boost::asio::awaitable<void> EmptyRemoved();

  // ---- manager_garbage.cc ----
  Async<std::vector<GarbageDecision>> Judge();
  boost::asio::awaitable<GarbageDecision> JudgeOne(std::shared_ptr<Sandbox> sandbox);
  Async<void> RemoveUnused(GarbageDecision decision);
  Async<void> CarryOut(const GarbageDecision& decision);
  absl::Status RemoveSpoolsOfNobody(const std::string& name);

  // ---- manager_cleanup.cc ----
  boost::asio::awaitable<void> CleanUp();
  boost::asio::awaitable<void> CleanUpOne(std::shared_ptr<Sandbox> sandbox);
  Async<bool> CleanUpEntry(EngineName volume, FileEntry entry);

  // ---- manager_disk.cc ----
  // What the last look at one sandbox was.
  struct DiskLook {
    std::chrono::steady_clock::time_point at;
    std::chrono::steady_clock::duration cost{0};
    absl::Time used;        // When the sandbox was used last, as of then.
    bool busy = false;      // Something ran: what it did since isn't known.
    std::int64_t free = 0;  // Of the machine's disk.
    std::int64_t base = 0;  // What growth is counted from.
    DiskTerms waits_for;    // What was used up when it was last paused.
    DiskRow written;        // What the store has of it.
  };
  DiskTerms Terms() const;
  DiskStanding StandingOf(const Sandbox& sandbox, const SandboxView& view) const;
  boost::asio::awaitable<void> WatchDisk();
  boost::asio::awaitable<void> LookAtDisk(bool all);
  boost::asio::awaitable<void> WriteDiskBook();
  boost::asio::awaitable<void> WriteHost();
  // Time alone makes a look at it due.
  bool WillBeDue(const Sandbox& sandbox, const SandboxView& view) const;
  bool IsDue(const Sandbox& sandbox, const SandboxView& view) const;
  boost::asio::awaitable<DiskUse> MeasureUse(EngineName volume, SandboxView view);
  boost::asio::awaitable<void> LookAt(std::shared_ptr<Sandbox> sandbox);
  boost::asio::awaitable<void> Enforce(std::shared_ptr<Sandbox> sandbox, DiskStanding standing);
  boost::asio::awaitable<void> WriteDiskRow(std::shared_ptr<Sandbox> sandbox);
  // ResourceExhausted: there is no room for so much more of its.
  absl::Status MayGrow(const PrincipalId& principal, std::int64_t by) const;
  absl::Status MayGrow(const Sandbox& sandbox, std::int64_t by) const;
  absl::Status MayGrow(const SandboxRef& ref, std::int64_t by) const;
  void AddDiskNotes(const Sandbox& sandbox, StartedJob& started);

  // ---- manager_life.cc ----
  boost::asio::awaitable<void> Live();
  boost::asio::awaitable<void> TakeSteps();
  boost::asio::awaitable<void> Spare();
  Async<HostReading> ReadHost();
  Async<bool> HasRoomForWarm();
  std::vector<DiskWarning> WarningsOf(int known, const HostReading& host) const;
  // A line in the journal for each that is new.
  void JournalWarnings(const HostReading& host);
  void SetReady(absl::Status ready);

  const ManagerLimits limits_;
  const Secret secret_;
  const UnjumpingClock clock_;  // For what a wrong age would lose.
  const absl::Time began_ = clock_.Now();
  const DiskRoom room_;
  boost::asio::thread_pool disk_{kDiskThreads};
  const boost::asio::any_io_executor strand_;
  Pool pool_;  // Sandboxes may give back to it what they didn't use.
  Registry registry_;
  Capacity capacity_;
  const SandboxContext context_;
  DiskBook disk_book_;

  // On the strand.
  StrandLock lock_;
  std::optional<EngineInfo> engine_;
  Clock::Monotonic engine_asked_;
  bool retrying_ = false;
  // Removed volumes are being emptied, and how often that was asked for.
  bool emptying_ = false;
  std::uint64_t emptyings_asked_ = 0;
  std::map<SandboxKey, DiskLook> disk_looks_;
  // The registry's changes at a look after which none is due before the next change.
  std::optional<std::uint64_t> disk_at_rest_;
  std::set<std::string_view> journaled_;  // Kinds of warnings that hold.
  // What recovery found to be nobody's, and couldn't remove.
  struct Leftovers {
    std::vector<EngineName> containers;
    std::vector<EngineName> volumes;
  } leftovers_;

  mutable std::mutex ready_mutex_;
  absl::Status ready_;
};

}  // namespace sandkeep
