// Where the last result of a job stopped, so that the next one goes on there without being told,
// and when the job will be ended. A comfort: what isn't remembered (the gateway was restarted, it
// was long ago) begins at the start, and the result says so.
//
// Bounded: kMaxRememberedJobs, and of one principal kMaxRememberedJobsEach, so that nobody pushes
// out others' in passing; the least recently used goes. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/ids.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep::mcp {

struct JobPosition {
  std::int64_t offset = 0;
  // Of stderr, where that is a stream of its own.
  std::int64_t errors_offset = 0;
  std::optional<absl::Time> ends;
  // Of a job that became a task: what its result is still to say of the sandbox.
  std::shared_ptr<const agent::v1::JobStarted> started = nullptr;
};

class JobPositions {
 public:
  void Set(const PrincipalId& principal, const JobId& job, JobPosition position);
  std::optional<JobPosition> Find(const PrincipalId& principal, const JobId& job);

 private:
  struct Entry {
    std::string principal;
    std::string job;
    JobPosition position;
  };
  using Entries = std::list<Entry>;
  using Key = std::pair<std::string, std::string>;

  void Remove(Entries::iterator entry);
  void MakeRoom(const std::string& principal);

  std::mutex mutex_;
  Entries entries_;  // The last used first.
  std::map<Key, Entries::iterator> by_key_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace sandkeep::mcp
