// Every sandbox this agent knows: finds or makes the one that a call names, starts it if need be,
// and hands the call on to its jobs and files. Knows no gRPC. Thread-safe: each call runs on the
// manager's or the sandbox's strand and resumes on the caller's executor.
//
// A reference is checked here, in one place: somebody else's sandbox and an unknown one get the
// same NotFound. Calls before Recover has succeeded answer with what keeps it from it.
//
// Idle sandboxes are frozen, then stopped, then removed (their files kept), by the clock and by
// what the machine has left. When another needs a place under SANDBOX_MAX the least recently used
// one is frozen; never one with a call, a transfer or a running job, but for a job that was handed
// back kHandedBackHold ago.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/file_process/file_process.h"
#include "agent/file_process/search.h"
#include "agent/jobs/job_table.h"
#include "agent/runtime/container_runtime.h"
#include "agent/store/store.h"
#include "common/async.h"
#include "common/ids.h"
#include "common/label.h"
#include "common/limits.h"

namespace sandkeep {

enum class SandboxState { kAbsent, kStarting, kRunning, kFrozen, kStopped, kBroken };

// How the container came to be running for this call.
enum class Arrival { kRunning, kNew, kWoken, kRestarted, kRebuilt };

// Which sandbox: principal and label (or a key of that principal's own in the label's place), or a
// key alone, whose bearer holds a signed link.
struct SandboxRef {
  std::optional<PrincipalId> principal;
  std::string label;
  std::optional<SandboxKey> key;
};

// The same for one that doesn't exist and one that is somebody else's.
inline absl::Status NoSuchSandbox() {
  return absl::NotFoundError(
      "there is no such sandbox: the first command with a label makes its sandbox");
}

struct SandboxSnapshot {
  SandboxKey key;
  Label label;
  PrincipalId principal;
  Generation generation;
  SandboxState state = SandboxState::kAbsent;
  absl::Time created;
  absl::Time last_used;
  int running_jobs = 0;
  // A call, a running job, or processes left behind.
  bool busy = false;
  absl::Time state_since = absl::InfinitePast();  // When it became frozen or stopped.
  std::string hostname;
  // As last measured; -1: not yet.
  std::int64_t workspace_bytes = -1;
  std::int64_t layer_bytes = -1;
};

struct StartedJob {
  SandboxSnapshot sandbox;
  Arrival arrival = Arrival::kRunning;
  absl::Time last_used_before;  // InfinitePast: never
  JobSnapshot job;
  std::optional<absl::Duration> timeout_lowered_to;
  std::vector<std::string> notes;
  std::unique_ptr<JobWatcher> watcher;  // From offset 0, following.
};

struct WatchedJob {
  JobSnapshot job;
  std::unique_ptr<JobWatcher> watcher;
};

// A file of a sandbox, whose container need not run.
struct SandboxFile {
  SandboxKey key;
  Generation generation;
  FileEntry entry;
  UniqueFd file;  // Only from OpenFile.
  // Of a file that was opened: its sandbox isn't frozen as long as this lives.
  std::shared_ptr<void> hold = {};
};

// A file that is being written to a sandbox, which is busy as long as this lives.
struct SandboxNewFile {
  SandboxRef ref;
  std::shared_ptr<PendingFile> file;
  bool new_sandbox = false;
  // Promised to it, until its blocks are reserved; nullptr: it has them.
  std::shared_ptr<const void> room = {};
  // Its sandbox isn't frozen as long as this lives.
  std::shared_ptr<void> hold = {};
};

// It has taken its place.
struct SandboxTakenFile {
  SandboxFile file;
  UniqueFd folder;  // To flush.
};

// How a file is to be made.
struct NewFileSpec {
  bool make_parents = false;
  std::string part;       // 16 bytes of an upload, or empty.
  std::int64_t size = 0;  // What it will need of the disk.
};

struct ManagerLimits {
  absl::Duration max_timeout = absl::Seconds(900);  // SANDBOX_MAX_TIMEOUT
  absl::Duration background = absl::Hours(12);      // SANDBOX_BACKGROUND
  int max_running = 2;                              // SANDBOX_MAX
  std::int64_t min_free_bytes = 2LL << 30;          // SANDBOX_MIN_FREE
  absl::Duration job_keep = absl::Hours(24);        // JOB_KEEP
  absl::Duration sweep_interval = absl::FromChrono(kJobSweepInterval);
  std::int64_t output_bytes = 2LL << 30;  // JOBS_DISK
  absl::Duration output_interval = absl::FromChrono(kOutputSweepInterval);
  // Infinite: never.
  absl::Duration idle = absl::Seconds(300);      // SANDBOX_IDLE
  absl::Duration stop_after = absl::Hours(1);    // SANDBOX_STOP_AFTER
  absl::Duration keep = absl::Hours(168);        // SANDBOX_KEEP
  bool recycle_removes = false;                  // SANDBOX_RECYCLE=remove
  std::int64_t mem_reserve_bytes = 512LL << 20;  // SANDBOX_MEM_RESERVE; 0: memory isn't looked at.
  absl::Duration volume_ttl = absl::Hours(168);  // VOLUME_TTL
  bool gc_delete = false;                        // GC_DELETE
  absl::Duration file_ttl = absl::InfiniteDuration();  // FILE_TTL; infinite: files are kept.
  absl::Duration cleanup_interval = absl::Hours(1);    // CLEANUP_INTERVAL
  int warm = 0;                                        // SANDBOX_WARM
  // 0: no limit.
  std::int64_t sandbox_disk_bytes = 0;              // SANDBOX_DISK
  std::int64_t principal_disk_bytes = 0;            // PRINCIPAL_DISK
  absl::Duration disk_interval = absl::Seconds(5);  // Infinite: nobody looks.
  absl::Duration life_interval = absl::FromChrono(kLifeInterval);
  absl::Duration host_interval = absl::FromChrono(kHostInterval);
  JobLimits jobs;
};

struct ManagerInfo {
  EngineInfo engine;
  int running = 0;
  int frozen = 0;
  int stopped = 0;
  int warm = 0;
  int known = 0;
  std::vector<std::string> warnings;
  std::int64_t disk_free_bytes = 0;
  std::int64_t disk_total_bytes = 0;
  std::int64_t memory_available_bytes = 0;
};

struct RemovedSandbox {
  bool container = false;
  bool volume = false;
  int jobs = 0;  // Commands that were running.
};

// One line of garbage collection: what would be, or was, removed and why.
struct GarbageDecision {
  enum class Kind { kVolume, kContainer, kSpool, kImage } kind;
  std::string name;
  bool remove = false;
  std::string reason;
  std::int64_t bytes = 0;
  // Of a sandbox's volume: whose, and when that was used as the decision has it.
  std::optional<SandboxKey> sandbox = {};
  absl::Time last_used = absl::InfinitePast();
};

struct CollectedGarbage {
  std::vector<GarbageDecision> decisions;
  bool dry_run = true;  // Nothing was removed: asked for, or GC_DELETE=0.
};

class SandboxManager {
 public:
  virtual ~SandboxManager() = default;

  // Reconciles records, engine and inits: running containers are taken over with their jobs, lost
  // records are rebuilt from the bindings beside the volumes, leftovers of ours are removed.
  // Nothing that isn't ours is touched. Before any call. If it fails (engine missing, say), it is
  // tried again every few seconds by itself; a second call tries at once.
  virtual Async<void> Recover() = 0;

  // `label` may be new: then the sandbox is made.
  virtual Async<StartedJob> StartJob(PrincipalId principal, std::string label, JobSpec spec) = 0;
  // No id: the newest job.
  virtual Async<WatchedJob> WatchJob(SandboxRef ref, std::optional<JobId> id,
                                     std::int64_t from_offset, bool follow) = 0;
  // At once, on any thread. nullopt: something may still come of it, or it isn't known; WatchJob
  // has all.
  virtual absl::StatusOr<std::optional<SettledJob>> FindSettledJob(const SandboxRef& ref,
                                                                   const JobId& id) const = 0;
  virtual Async<std::vector<JobSnapshot>> ListJobs(SandboxRef ref, int limit) = 0;
  virtual Async<std::int64_t> SendInput(SandboxRef ref, JobId id, std::string data, bool end) = 0;
  virtual Async<JobSnapshot> SignalJob(SandboxRef ref, JobId id, int signal,
                                       absl::Duration grace) = 0;

  // Most recently used first; no principal: everyone's (operators).
  virtual Async<std::vector<SandboxSnapshot>> List(std::optional<PrincipalId> principal) = 0;
  // At once, on any thread.
  virtual absl::StatusOr<SandboxSnapshot> Get(const SandboxRef& ref) const = 0;
  virtual Async<RemovedSandbox> Remove(SandboxRef ref, bool remove_volume) = 0;
  // Its processes wait, as when it is idle. FailedPrecondition: a command runs, somebody waits, or
  // it doesn't run itself.
  virtual Async<SandboxSnapshot> Freeze(SandboxRef ref) = 0;
  // Those of a frozen one go on; any other stays as it is.
  virtual Async<SandboxSnapshot> Thaw(SandboxRef ref) = 0;

  virtual Async<SandboxFile> StatFile(SandboxRef ref, RelPath path) = 0;
  virtual Async<SandboxFile> OpenFile(SandboxRef ref, RelPath path) = 0;
  virtual Async<FileListing> ListFiles(SandboxRef ref, FileQuery query) = 0;
  // `ref` has principal and label, which may be new, or a key. ResourceExhausted: the disk is
  // nearly full.
  virtual Async<SandboxNewFile> CreateFile(SandboxRef ref, RelPath path, NewFileSpec spec) = 0;
  virtual Async<SandboxTakenFile> CommitFile(SandboxNewFile file, TakeTerms terms) = 0;
  virtual Async<std::int64_t> DeleteFile(SandboxRef ref, RelPath path, bool recursive) = 0;

  // Before the machine goes down, or the agent for good: all are held still, so that none sees
  // another's end, then stopped; files and packages stay. Nothing can be begun any more.
  virtual Async<void> StopAll() = 0;

  virtual Async<ManagerInfo> Info() = 0;
  // What no sandbox needs is removed, and sandboxes with their files that nobody has used and in
  // which nothing has changed for VOLUME_TTL. A line for each decision, with the reason. When in
  // doubt, a volume is kept.
  virtual Async<CollectedGarbage> CollectGarbage(bool dry_run) = 0;
};

// Everything outlives the manager, and the executor's threads have stopped when it is destroyed.
// `state_dir` holds spools; the HMAC secret of keys is made there at first start.
absl::StatusOr<std::unique_ptr<SandboxManager>> MakeSandboxManager(
    boost::asio::any_io_executor executor, ContainerRuntime& runtime, FileProcess& files,
    Store& store, Clock& clock, Random& random, ManagerLimits limits, std::string state_dir);

}  // namespace sandkeep
