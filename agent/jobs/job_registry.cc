#include "agent/jobs/job_registry.h"

#include <algorithm>
#include <numeric>

#include "common/limits.h"

namespace sandkeep {

using EntryPtr = JobRegistry::EntryPtr;

void JobRegistry::Add(const EntryPtr& job) {
  order_.push_back(job);
  by_id_.emplace(job->row().id, job);
  if (job->settled()) {
    EnterOutput(job);
  } else {
    SetLive(job);
  }
}

void JobRegistry::Remove(const EntryPtr& job) {
  settled_.TakeOut(job->row().id);
  LeaveOutput(job);
  job->Abandon();
  by_id_.erase(job->row().id);
  live_.erase(job->row().id);
  order_.erase(std::remove(order_.begin(), order_.end(), job), order_.end());
}

void JobRegistry::AbandonAll() {
  for (const EntryPtr& job : order_) {
    settled_.TakeOut(job->row().id);
    job->Abandon();
  }
}

void JobRegistry::SetLive(const EntryPtr& job) {
  settled_.TakeOut(job->row().id);
  LeaveOutput(job);
  live_.emplace(job->row().id, job);
  if (live_.size() == 1) return;
  for (const auto& [id, living] : live_) living->SetCompany();
}

void JobRegistry::SetSettled(const EntryPtr& job) {
  live_.erase(job->row().id);
  EnterOutput(job);
  settled_.Enter(*job);
}

void JobRegistry::EnterOutput(const EntryPtr& job) {
  const std::int64_t kept = job->kept_bytes();
  if (kept == 0) return;
  if (with_output_.emplace(job->row().ended, job->row().id).second) settled_bytes_ += kept;
}

void JobRegistry::LeaveOutput(const EntryPtr& job) {
  if (with_output_.erase({job->row().ended, job->row().id}) > 0) {
    settled_bytes_ -= job->kept_bytes();
  }
}

EntryPtr JobRegistry::Find(const JobId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

EntryPtr JobRegistry::FindLive(const JobId& id) const {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : found->second;
}

std::vector<EntryPtr> JobRegistry::Live() const {
  std::vector<EntryPtr> jobs;
  for (const auto& [id, job] : live_) jobs.push_back(job);
  return jobs;
}

absl::StatusOr<JobSnapshot> JobRegistry::Newest() const {
  if (order_.empty()) return absl::NotFoundError("no job was ever started in this sandbox");
  return order_.back()->Snapshot();
}

std::vector<JobSnapshot> JobRegistry::List(int limit) const {
  std::vector<JobSnapshot> jobs;
  for (auto job = order_.rbegin(); job != order_.rend() && limit > 0; ++job, --limit) {
    jobs.push_back((*job)->Snapshot());
  }
  return jobs;
}

bool JobRegistry::IsForgettable(const EntryPtr& job) {
  // Held by order_ and by_id_ alone.
  constexpr long kOwners = 2;
  return job->settled() && job->recorded() && job.use_count() == kOwners;
}

std::vector<EntryPtr> JobRegistry::Forgettable(absl::Time ended_before) const {
  std::size_t too_many = order_.size() - std::min(order_.size(), kMaxKnownJobs);
  std::vector<EntryPtr> jobs;
  for (const EntryPtr& job : order_) {
    if (!IsForgettable(job) || (too_many == 0 && job->row().ended >= ended_before)) continue;
    jobs.push_back(job);
    if (too_many > 0) --too_many;
  }
  return jobs;
}

std::int64_t JobRegistry::output_bytes() const {
  return std::accumulate(
      live_.begin(), live_.end(), settled_bytes_,
      [](std::int64_t sum, const auto& entry) { return sum + entry.second->kept_bytes(); });
}

std::int64_t JobRegistry::pending_input() const {
  return std::accumulate(
      live_.begin(), live_.end(), std::int64_t{0},
      [](std::int64_t sum, const auto& entry) { return sum + entry.second->pending_input(); });
}

EntryPtr JobRegistry::OldestWithOutput() const {
  for (const auto& [ended, id] : with_output_) {
    const EntryPtr& job = by_id_.at(id);
    if (IsForgettable(job)) return job;
  }
  return nullptr;
}

bool JobRegistry::AllRecorded() const {
  return std::none_of(order_.begin(), order_.end(),
                      [](const EntryPtr& job) { return job->ended() && !job->recorded(); });
}

int JobRegistry::running() const {
  return static_cast<int>(std::count_if(live_.begin(), live_.end(),
                                        [](const auto& entry) { return !entry.second->ended(); }));
}

int JobRegistry::left_behind() const {
  return static_cast<int>(std::count_if(live_.begin(), live_.end(), [](const auto& entry) {
    return entry.second->left_behind() > 0;
  }));
}

}  // namespace sandkeep
