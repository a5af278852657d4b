// Whose sandboxes are, and of which generation, as the agent said when it was last asked: so that
// not every download asks it. What is here may be over, and no wrong link is refused by it alone; a
// file's own generation, which comes with the file, tells whether it still holds. Thread-safe.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "common/limits.h"

namespace sandkeep {

struct KnownOwner {
  std::string principal;
  std::string generation;
};

class KnownOwners {
 public:
  std::optional<KnownOwner> Find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = owners_.find(key);
    if (found == owners_.end()) return std::nullopt;
    return found->second;
  }
  // The one that came first makes room.
  void Put(const std::string& key, KnownOwner owner) {
    const std::lock_guard lock(mutex_);
    if (owners_.insert_or_assign(key, std::move(owner)).second) order_.push_back(key);
    if (order_.size() <= kMaxKnownOwners) return;
    owners_.erase(order_.front());
    order_.pop_front();
  }

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_map<std::string, KnownOwner> owners_;
  std::deque<std::string> order_;
};

}  // namespace sandkeep
