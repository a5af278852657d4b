#include "gateway/mcp/job_positions.h"

#include <algorithm>
#include <iterator>

#include "common/limits.h"

namespace sandkeep::mcp {

void JobPositions::Set(const PrincipalId& principal, const JobId& job, JobPosition position) {
  const std::lock_guard lock(mutex_);
  const Key key(principal.text(), job.bytes());
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    known->second->position = position;
    entries_.splice(entries_.begin(), entries_, known->second);
    return;
  }
  MakeRoom(principal.text());
  entries_.push_front({.principal = key.first, .job = key.second, .position = position});
  by_key_.emplace(key, entries_.begin());
  ++counts_[key.first];
}

std::optional<JobPosition> JobPositions::Find(const PrincipalId& principal, const JobId& job) {
  const std::lock_guard lock(mutex_);
  const auto known = by_key_.find(Key(principal.text(), job.bytes()));
  if (known == by_key_.end()) return std::nullopt;
  return known->second->position;
}

void JobPositions::MakeRoom(const std::string& principal) {
  if (const auto count = counts_.find(principal);
      count != counts_.end() && count->second >= kMaxRememberedJobsEach) {
    const auto own = std::find_if(entries_.rbegin(), entries_.rend(),
                                  [&](const Entry& entry) { return entry.principal == principal; });
    return Remove(std::prev(own.base()));
  }
  if (entries_.size() >= kMaxRememberedJobs) Remove(std::prev(entries_.end()));
}

void JobPositions::Remove(Entries::iterator entry) {
  by_key_.erase(Key(entry->principal, entry->job));
  const auto count = counts_.find(entry->principal);
  if (--count->second == 0) counts_.erase(count);
  entries_.erase(entry);
}

}  // namespace sandkeep::mcp
