// How often one peer may begin each method: a bucket a method, which holds one second's calls and
// fills evenly. What a captured front end can cost everybody is bounded by it, and by CallCount.
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>

#include "agent/service/rpc_table.h"

namespace sandkeep {

class CallRate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit CallRate(TimePoint now) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      buckets_.at(i) = {static_cast<double>(kRpcTable.at(i).per_second), now};
    }
  }

  // `rpc` is one of kRpcTable.
  bool Allows(const Rpc& rpc, TimePoint now) {
    const std::lock_guard lock(mutex_);
    Bucket& bucket = buckets_.at(static_cast<std::size_t>(&rpc - kRpcTable.data()));
    const std::chrono::duration<double> passed = now - bucket.filled_at;
    const double most = rpc.per_second;
    bucket = {std::min(most, bucket.calls + passed.count() * most), now};
    if (bucket.calls < 1) return false;
    --bucket.calls;
    return true;
  }

 private:
  struct Bucket {
    double calls = 0;
    TimePoint filled_at;
  };

  std::mutex mutex_;  // Guards what stands below it.
  std::array<Bucket, kRpcTable.size()> buckets_;
};

}  // namespace sandkeep
