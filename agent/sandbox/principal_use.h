// What one principal has under way over all its sandboxes, for the caps of common/limits.h: one key
// can't stop the others. Counted where it happens, read at admission; thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "common/ids.h"

namespace sandkeep {

struct PrincipalUse {
  std::atomic<int> running_jobs = 0;
  std::atomic<int> starting_jobs = 0;  // Calls that will start one, and aren't counted above yet.
  std::atomic<int> waits = 0;
};

class PrincipalUses {
 public:
  // The same for everything of one principal, as long as something of it is known.
  std::shared_ptr<PrincipalUse> Of(const PrincipalId& principal);

 private:
  std::mutex mutex_;
  std::map<PrincipalId, std::weak_ptr<PrincipalUse>> uses_;
};

}  // namespace sandkeep
