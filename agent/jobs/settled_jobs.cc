#include "agent/jobs/settled_jobs.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"

namespace sandkeep {

void SettledJobs::Enter(const JobEntry& job) {
  if (!job.knows_sizes()) return;
  const std::lock_guard lock(mutex_);
  jobs_.emplace(job.row().id, &job);
}

void SettledJobs::TakeOut(const JobId& id) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(id);
}

std::optional<SettledJob> SettledJobs::Find(const JobId& id) const {
  // Held while the entry is read: it is the strand's again once it was taken out.
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return std::nullopt;
  const JobEntry& entry = *found->second;
  SettledJob settled{.job = entry.Snapshot(), .streams = {}};
  for (std::size_t i = 0; i < entry.streams(); ++i) {
    settled.streams.push_back({.kind = entry.stream(i),
                               .path = entry.spool_path(i),
                               .size = entry.size(i),
                               .dropped = entry.dropped(i)});
  }
  return settled;
}

std::optional<std::vector<JobEvent>> OutputNow(const SettledJob::Stream& stream,
                                               std::int64_t offset, std::int64_t limit) {
  std::vector<JobEvent> events;
  const ByteRange& dropped = stream.dropped;
  const auto tell_gap = [&](std::int64_t from) {
    JobEvent event{};
    event.kind = JobEvent::Kind::kGap;
    event.gap = {from, std::min(dropped.to, stream.size), stream.kind};
    events.push_back(std::move(event));
    return events.back().gap.to;
  };
  offset = std::min(offset, stream.size);
  if (dropped.Holds(offset)) offset = tell_gap(offset);
  const std::int64_t wanted = std::min(limit, stream.size - offset);
  const bool ends_in_gap =
      dropped.size() > 0 && offset < dropped.from && offset + wanted > dropped.from;
  const std::int64_t bytes = ends_in_gap ? dropped.from - offset : wanted;
  if (bytes > static_cast<std::int64_t>(kMaxJobOutputChunk)) return std::nullopt;
  if (bytes > 0) {
    std::optional<std::string> data = ReadIfCached(stream.path, offset, bytes);
    if (!data.has_value()) return std::nullopt;
    JobEvent event{};
    event.kind = JobEvent::Kind::kOutput;
    event.output = {offset, stream.kind, *std::move(data)};
    events.push_back(std::move(event));
  }
  if (ends_in_gap) tell_gap(dropped.from);
  return events;
}

}  // namespace sandkeep
