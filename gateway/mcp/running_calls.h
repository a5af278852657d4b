// The calls that run for clients of the older revisions, so that `notifications/cancelled` finds
// their job. Found by principal, session and request id. Clients that don't name the session that
// they were given count as one, and ids begin at 0 in every client: so two clients of one person
// may run a call of the same id at once. Then neither is found, since ending the wrong
// conversation's work is worse than letting this one run on.
//
// At most kMaxTrackedCalls; a call beyond that runs, but can't be found. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "agent/client/agent_client.h"
#include "common/ids.h"

namespace sandkeep::mcp {

// A job on behalf of a call. Fixed when made, but for `cancelled`: set when its client cancelled
// it, for the case that the job hasn't started yet.
struct RunningJob {
  agent::v1::SandboxRef sandbox;
  std::string job_id;
  std::atomic<bool> cancelled{false};
};

class RunningCalls {
 public:
  // Forgets the call when destroyed. The table outlives it.
  class Entry {
   public:
    Entry() = default;
    Entry(Entry&& other) noexcept
        : table_(std::exchange(other.table_, nullptr)),
          key_(std::move(other.key_)),
          job_(std::move(other.job_)) {}
    Entry& operator=(Entry&&) = delete;
    ~Entry();

   private:
    friend class RunningCalls;
    Entry(RunningCalls* table, std::string key, std::shared_ptr<RunningJob> job)
        : table_(table), key_(std::move(key)), job_(std::move(job)) {}

    RunningCalls* table_ = nullptr;
    std::string key_;
    std::shared_ptr<RunningJob> job_;
  };

  // `request_id` as JSON text.
  Entry Add(const PrincipalId& principal, std::string_view session, std::string_view request_id,
            std::shared_ptr<RunningJob> job);

  // nullptr: none, or more than one.
  std::shared_ptr<RunningJob> Find(const PrincipalId& principal, std::string_view session,
                                   std::string_view request_id) const;

  std::size_t size() const;

 private:
  void Remove(const std::string& key, const std::shared_ptr<RunningJob>& job);

  mutable std::mutex mutex_;
  std::multimap<std::string, std::shared_ptr<RunningJob>> calls_;
};

}  // namespace sandkeep::mcp
