// The jobs that a table knows: oldest first, by id, and those of which something may still happen.
// On the sandbox's strand.
#pragma once

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "agent/jobs/job_entry.h"
#include "agent/jobs/settled_jobs.h"

namespace sandkeep {

class JobRegistry {
 public:
  using EntryPtr = std::shared_ptr<JobEntry>;

  void Add(const EntryPtr& job);
  // Abandons it.
  void Remove(const EntryPtr& job);
  void AbandonAll();

  // Something may happen of it again; nothing any more.
  void SetLive(const EntryPtr& job);
  void SetSettled(const EntryPtr& job);

  // Of this agent's own jobs, for any thread.
  const SettledJobs& settled() const { return settled_; }

  // Null: there is none.
  EntryPtr Find(const JobId& id) const;
  EntryPtr FindLive(const JobId& id) const;
  std::vector<EntryPtr> Live() const;
  std::size_t live() const { return live_.size(); }
  std::size_t size() const { return order_.size(); }

  // NotFound: there was never one.
  absl::StatusOr<JobSnapshot> Newest() const;
  // Newest first.
  std::vector<JobSnapshot> List(int limit) const;
  // Ended before this or too many (kMaxKnownJobs); recorded, with nothing left behind, and read by
  // nobody.
  std::vector<EntryPtr> Forgettable(absl::Time ended_before) const;

  // On the disk.
  std::int64_t output_bytes() const;
  // The one that ended first of those that can be forgotten and hold output. Null: there is none.
  EntryPtr OldestWithOutput() const;

  // Of those that live.
  std::int64_t pending_input() const;

  // Jobs that run, and jobs that ended but left processes behind.
  bool AllRecorded() const;
  int running() const;
  int left_behind() const;

 private:
  static bool IsForgettable(const EntryPtr& job);
  void EnterOutput(const EntryPtr& job);
  void LeaveOutput(const EntryPtr& job);

  std::vector<EntryPtr> order_;
  absl::flat_hash_map<JobId, EntryPtr> by_id_;
  absl::flat_hash_map<JobId, EntryPtr> live_;
  SettledJobs settled_;
  // The others, as far as they hold output, by their end; and what they hold, which stays the same.
  // Asked for at every step of every job: a walk over all that is known would be most of its cost.
  std::set<std::pair<absl::Time, JobId>> with_output_;
  std::int64_t settled_bytes_ = 0;
};

}  // namespace sandkeep
