#include "gateway/oauth/source_limit.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/limits.h"
#include "gateway/http/source.h"

namespace sandkeep::oauth {
namespace {

constexpr std::string_view kEverybodyElse = "*";

}  // namespace

void SourceLimit::Fill(Bucket* bucket, Clock::Monotonic now) const {
  const double seconds = std::chrono::duration<double>(now - bucket->filled_at).count();
  bucket->tokens = std::min(at_once_, bucket->tokens + std::max(seconds, 0.0) * per_second_);
  bucket->filled_at = now;
}

std::string SourceLimit::PlaceFor(std::string source, Clock::Monotonic now) {
  if (buckets_.size() < kMaxTrackedSources || buckets_.contains(source)) return source;
  absl::erase_if(buckets_, [&](auto& entry) {
    Fill(&entry.second, now);
    return entry.second.tokens >= at_once_;
  });
  return buckets_.size() < kMaxTrackedSources ? source : std::string(kEverybodyElse);
}

bool SourceLimit::Take(std::string_view address) {
  const Clock::Monotonic now = clock_.Steady();
  const std::lock_guard lock(mutex_);
  const std::string place = PlaceFor(http::SourceOf(address), now);
  Bucket& bucket = buckets_.try_emplace(place, Bucket{at_once_, now}).first->second;
  Fill(&bucket, now);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace sandkeep::oauth
