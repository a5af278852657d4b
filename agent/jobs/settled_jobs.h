// The jobs of one sandbox of which nothing can come any more: what is known of them, and what of
// their output is in memory, for who needs nothing else and so needn't wait for the strand.
//
// Any thread. The strand enters a job when it has settled, and takes it out before it changes or
// forgets it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/jobs/job.h"
#include "agent/jobs/job_entry.h"
#include "agent/jobs/spool.h"

namespace sandkeep {

// Plain values, a copy.
struct SettledJob {
  struct Stream {
    OutputStream kind = OutputStream::kMerged;
    std::string path;
    std::int64_t size = 0;
    ByteRange dropped = {};
  };

  JobSnapshot job;
  std::vector<Stream> streams;
};

class SettledJobs {
 public:
  // One whose sizes only the disk knows stays out.
  void Enter(const JobEntry& job);
  void TakeOut(const JobId& id);

  // nullopt: it hasn't settled, or isn't there.
  std::optional<SettledJob> Find(const JobId& id) const;

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_map<JobId, const JobEntry*> jobs_;
};

// What a watcher from `offset` tells of that stream, up to `limit` bytes or the gap behind the
// first ones. nullopt: it would wait for the disk, or keep others waiting; or the spool was given
// up, since the job was found.
std::optional<std::vector<JobEvent>> OutputNow(const SettledJob::Stream& stream,
                                               std::int64_t offset, std::int64_t limit);

}  // namespace sandkeep
