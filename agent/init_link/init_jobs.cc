#include "agent/init_link/init_jobs.h"

#include <sys/wait.h>

#include <algorithm>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

absl::Status Lied(std::string_view what) { return absl::DataLossError(StrCat("init ", what)); }

absl::StatusOr<JobId> IdOf(const std::string& bytes) {
  absl::StatusOr<JobId> id = JobId::FromBytes(bytes);
  if (!id.ok()) return Lied("sent a job id that is none");
  return id;
}

bool IsWaitStatus(int status) {
  constexpr int kBits = 0xffff;
  return (status & ~kBits) == 0 && (WIFEXITED(status) || WIFSIGNALED(status));
}

bool IsDescriptor(int number) { return number >= -1; }

}  // namespace

absl::Status InitJobs::Add(const JobId& id) {
  if (jobs_.size() >= kMaxInitJobs) {
    return absl::ResourceExhaustedError(
        StrCat("this sandbox has ", kMaxInitJobs, " commands that run or left processes behind"));
  }
  if (!jobs_.emplace(id, State::kStarting).second) {
    return absl::AlreadyExistsError("init has this job already");
  }
  return absl::OkStatus();
}

absl::Status InitJobs::CheckKnown(const JobId& id) const {
  if (jobs_.contains(id)) return absl::OkStatus();
  return absl::FailedPreconditionError("init no longer has this job");
}

void InitJobs::Forget(const JobId& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const bool gone = found->second == State::kGone;
  jobs_.erase(found);
  if (gone) return Erase(id);
  if (forgotten_.size() >= kMaxInitJobs) Erase(JobId(*forgotten_.begin()));
  forgotten_.insert(id);
}

void InitJobs::Erase(const JobId& id) {
  forgotten_.erase(id);
  absl::erase_if(used_, [&](const auto& entry) { return entry.second == id; });
}

absl::Status InitJobs::Use(const JobId& standby, const JobId& id) {
  RETURN_IF_ERROR(CheckKnown(standby));
  if (jobs_.contains(id)) return absl::AlreadyExistsError("init has this job already");
  // It has ended by itself, as init has told.
  if (jobs_.at(standby) > State::kRunning) return absl::FailedPreconditionError("it has ended");
  auto entry = jobs_.extract(standby);
  jobs_.emplace(id, entry.mapped());
  used_.emplace(standby, id);
  return absl::OkStatus();
}

absl::StatusOr<JobId> InitJobs::NameOf(const std::string& bytes) const {
  ASSIGN_OR_RETURN(JobId id, IdOf(bytes));
  const auto used = used_.find(id);
  if (used != used_.end()) return used->second;
  return id;
}

absl::StatusOr<JobId> InitJobs::OfForgotten(const JobId& id, bool gone) {
  if (!forgotten_.contains(id)) return Lied("spoke of a job that we don't know");
  if (gone) Erase(id);
  return id;
}

absl::StatusOr<JobId> InitJobs::Advance(const std::string& bytes, State from, State to) {
  ASSIGN_OR_RETURN(JobId id, NameOf(bytes));
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return OfForgotten(id, to == State::kGone);
  if (found->second != from) return Lied("spoke of a job out of order");
  found->second = to;
  return id;
}

absl::StatusOr<JobId> InitJobs::Adopt(const init::v1::JobState& state) {
  ASSIGN_OR_RETURN(JobId id, IdOf(state.job_id()));
  const bool sane = state.pid() <= kMaxPid && (state.exited() || !state.gone()) &&
                    (!state.exited() || IsWaitStatus(state.wait_status())) &&
                    state.exited_ms_ago() >= 0 && state.exited_ms_ago() <= kMaxExitedMsAgo &&
                    IsDescriptor(state.stdout_fd()) && IsDescriptor(state.stderr_fd()) &&
                    IsDescriptor(state.stdin_fd());
  if (!sane) return Lied("described a job that can't be");
  if (jobs_.size() >= kMaxInitJobs) return Lied("named more jobs than it may have");
  // Without a pid it is on its way: Started or Refused is still to come.
  const State at = state.gone()       ? State::kGone
                   : state.exited()   ? State::kExited
                   : state.pid() == 0 ? State::kStarting
                                      : State::kRunning;
  if (!jobs_.emplace(id, at).second) return Lied("named a job twice");
  return id;
}

absl::StatusOr<JobId> InitJobs::Started(const init::v1::Started& frame) {
  // 0: its supervisor was killed before it could say.
  if (frame.pid() > kMaxPid) return Lied("started a process that can't be");
  return Advance(frame.job_id(), State::kStarting, State::kRunning);
}

absl::StatusOr<JobId> InitJobs::Exited(const init::v1::Exited& frame) {
  if (!IsWaitStatus(frame.wait_status())) return Lied("sent an exit status that is none");
  if (frame.left_behind() > kMaxPid) return Lied("counted more processes than there can be");
  return Advance(frame.job_id(), State::kRunning, frame.gone() ? State::kGone : State::kExited);
}

absl::StatusOr<JobId> InitJobs::Gone(const init::v1::Gone& frame) {
  return Advance(frame.job_id(), State::kExited, State::kGone);
}

absl::StatusOr<JobId> InitJobs::Waiting(const init::v1::Waiting& frame) {
  ASSIGN_OR_RETURN(JobId id, NameOf(frame.job_id()));
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return OfForgotten(id, /*gone=*/false);
  if (found->second == State::kStarting) return Lied("spoke of a job out of order");
  return id;
}

absl::StatusOr<std::optional<JobId>> InitJobs::Refused(const init::v1::Refused& frame) {
  ASSIGN_OR_RETURN(JobId id, NameOf(frame.job_id()));
  if (!init::v1::Refused::Reason_IsValid(frame.reason())) return Lied("refused for no reason");
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    if (std::find(refused_.begin(), refused_.end(), id) != refused_.end()) return std::nullopt;
    if (forgotten_.contains(id)) return std::nullopt;
    return Lied("refused a job that we don't know");
  }
  if (found->second != State::kStarting) return std::nullopt;
  jobs_.erase(found);
  Erase(id);
  if (refused_.size() >= kMaxInitJobs) refused_.pop_front();
  refused_.push_back(id);
  return id;
}

}  // namespace sandkeep
