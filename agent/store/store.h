// What the agent must remember: sandboxes, their volumes and containers, jobs, and what it was
// about to do to the engine. SQLite on a thread of its own; calls resume on the caller's executor.
// Thread-safe.
//
// Rows of jobs, and the time of last use, are written so that process death loses nothing; bindings
// and intents so that a power cut doesn't either. Every call is done when it is written: nothing is
// held back.
//
// Executors that calls come from outlive the store: it resumes on them until its destructor, which
// waits for the call that is being served and drops the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/jobs/job.h"
#include "common/async.h"
#include "common/ids.h"
#include "common/label.h"

namespace sandkeep {

// How a sandbox that nobody uses waits, or is about to.
enum class Rest { kNone, kFrozen, kStopped };

// What was last seen of a sandbox on the disk.
struct DiskRow {
  std::int64_t workspace = -1;  // -1: nothing yet.
  std::int64_t layer = -1;
  std::int64_t names = 0;
  bool paused = false;  // What ran in it waited for room.

  friend bool operator==(const DiskRow&, const DiskRow&) = default;
};

struct SandboxRow {
  SandboxKey key;
  PrincipalId principal;
  Label label;
  Generation generation;
  EngineName volume;
  std::optional<EngineName> container;  // What exists, or is about to.
  absl::Time created;
  absl::Time last_used;
  Rest rest = Rest::kNone;
  absl::Time rest_since = absl::InfinitePast();
  // The command that brings back what was installed in its container, as far as that is known.
  std::string reinstall = {};
  DiskRow disk = {};
};

// A container that was started for nobody yet, or is about to be, and its volume.
struct WarmRow {
  EngineName container;
  EngineName volume;
};

struct JobRow {
  JobId id;
  SandboxKey sandbox;
  JobState state = JobState::kStarting;
  std::string command_head;
  absl::Time started;
  absl::Time ended;
  bool merge_streams = true;
  bool stdin_open = false;
  // Inodes of the pipes that the agent made for it: what it takes back from init must be these.
  std::uint64_t stdout_inode = 0;
  std::uint64_t stderr_inode = 0;
  std::uint64_t stdin_inode = 0;
  // The JOB_SPOOL_MAX that its spool is kept under: a changed setting must not move its gap.
  std::int64_t spool_bytes = 0;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Duration grace = absl::Seconds(2);
  std::optional<Outcome> outcome;
};

// An id says nothing outside its sandbox: its caller chose it.
struct JobKey {
  SandboxKey sandbox;
  JobId id;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual Async<std::vector<SandboxRow>> LoadSandboxes() = 0;
  // Insert or replace, by key.
  virtual Async<void> PutSandbox(SandboxRow row) = 0;
  // NotFound: no such row.
  virtual Async<void> SetContainer(SandboxKey key, std::optional<EngineName> container) = 0;
  // One fsync less than PutSandbox: for every command.
  virtual Async<void> TouchSandbox(SandboxKey key, absl::Time last_used) = 0;
  // As quick: every container of a machine that lost its power is stopped, whatever stands here.
  virtual Async<void> SetRest(SandboxKey key, Rest rest, absl::Time since) = 0;
  virtual Async<void> SetReinstall(SandboxKey key, std::string command) = 0;
  virtual Async<void> SetDisk(SandboxKey key, DiskRow disk) = 0;
  // With the rows of its jobs.
  virtual Async<void> DeleteSandbox(SandboxKey key) = 0;

  virtual Async<std::vector<WarmRow>> LoadWarm() = 0;
  // Insert or replace, by container.
  virtual Async<void> PutWarm(WarmRow row) = 0;
  virtual Async<void> DeleteWarm(EngineName container) = 0;

  // Oldest first.
  virtual Async<std::vector<JobRow>> LoadJobs() = 0;
  // Insert or replace, by sandbox and id.
  virtual Async<void> PutJob(JobRow row) = 0;
  // All of them or none, at the cost of little more than one.
  virtual Async<void> PutJobs(std::vector<JobRow> rows) = 0;
  virtual Async<void> DeleteJobs(std::vector<JobKey> jobs) = 0;
};

// Opens or makes `<state_dir>/agent.db`. DataLoss, FailedPrecondition: the message has the remedy.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& state_dir);

}  // namespace sandkeep
