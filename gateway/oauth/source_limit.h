// An allowance for each address that asks without being known: a bucket of tokens that fills
// evenly. What is kept is bounded: beyond kMaxTrackedSources the full buckets are forgotten, and
// addresses that find no place then share one. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "common/clock.h"

namespace sandkeep::oauth {

class SourceLimit {
 public:
  SourceLimit(double at_once, double per_second, const Clock& clock)
      : at_once_(at_once), per_second_(per_second), clock_(clock) {}

  // Takes one from the allowance of `address`; false: there is none left. IPv6 counts by its /64.
  bool Take(std::string_view address);

 private:
  struct Bucket {
    double tokens;
    Clock::Monotonic filled_at;
  };
  void Fill(Bucket* bucket, Clock::Monotonic now) const;
  std::string PlaceFor(std::string source, Clock::Monotonic now);

  const double at_once_;
  const double per_second_;
  const Clock& clock_;
  std::mutex mutex_;  // Guards what stands below it.
  absl::flat_hash_map<std::string, Bucket> buckets_;
};

}  // namespace sandkeep::oauth
