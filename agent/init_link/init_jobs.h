// Which jobs init may speak of, and what it may say next of each: the state machine that holds a
// hostile init to the protocol. On the sandbox's strand.
//
// Every check answers DataLoss, with words for the log, when init lied.
#pragma once

#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep {

class InitJobs {
 public:
  // Ours: told to init, or named by it in its reply to hello.
  absl::Status Add(const JobId& id);
  // FailedPrecondition: init can't be told more of this job.
  absl::Status CheckKnown(const JobId& id) const;
  // What init said of it before it heard that is no lie.
  void Forget(const JobId& id);
  // The shell that stood by is this job; what init says of it under the old name counts for it.
  // FailedPrecondition: it isn't there, or has ended.
  absl::Status Use(const JobId& standby, const JobId& id);

  absl::StatusOr<JobId> Adopt(const init::v1::JobState& state);
  absl::StatusOr<JobId> Started(const init::v1::Started& frame);
  absl::StatusOr<JobId> Exited(const init::v1::Exited& frame);
  absl::StatusOr<JobId> Gone(const init::v1::Gone& frame);
  absl::StatusOr<JobId> Waiting(const init::v1::Waiting& frame);

  // The job that can't start, and is no longer init's. Nothing: an answer to a later frame of a job
  // refused before, or to a signal that came too late: it changes nothing.
  absl::StatusOr<std::optional<JobId>> Refused(const init::v1::Refused& frame);

 private:
  enum class State { kStarting, kRunning, kExited, kGone };
  absl::StatusOr<JobId> Advance(const std::string& bytes, State from, State to);

  absl::StatusOr<JobId> OfForgotten(const JobId& id, bool gone);
  void Erase(const JobId& id);

  absl::StatusOr<JobId> NameOf(const std::string& bytes) const;

  absl::flat_hash_map<JobId, State> jobs_;
  // Those that something may still be heard of.
  absl::flat_hash_set<JobId> forgotten_;
  // From the name of a shell that stood by.
  absl::flat_hash_map<JobId, JobId> used_;
  // Init answers each part of a command that it has refused. The latest ones.
  std::deque<JobId> refused_;
};

}  // namespace sandkeep
