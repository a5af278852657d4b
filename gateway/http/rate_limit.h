// REQUEST_RATE: a bucket a principal, which holds one second's requests and fills evenly. So many
// buckets as there are principals. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "common/clock.h"

namespace sandkeep::http {

class RateLimit {
 public:
  // 0: no limit.
  RateLimit(int per_second, const Clock& clock) : rate_(per_second), clock_(clock) {}

  bool Allows(std::string_view principal);

 private:
  struct Bucket {
    double tokens;
    Clock::Monotonic filled_at;
  };

  const double rate_;
  const Clock& clock_;
  std::mutex mutex_;  // Guards what stands below it.
  absl::flat_hash_map<std::string, Bucket> buckets_;
};

}  // namespace sandkeep::http
