#include "gateway/http/rate_limit.h"

#include <algorithm>
#include <chrono>

namespace sandkeep::http {

bool RateLimit::Allows(std::string_view principal) {
  if (rate_ == 0) return true;
  const Clock::Monotonic now = clock_.Steady();
  const std::lock_guard lock(mutex_);
  auto [entry, is_new] = buckets_.try_emplace(std::string(principal), Bucket{rate_, now});
  Bucket& bucket = entry->second;
  const double seconds = std::chrono::duration<double>(now - bucket.filled_at).count();
  bucket.tokens = std::min(rate_, bucket.tokens + std::max(seconds, 0.0) * rate_);
  bucket.filled_at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace sandkeep::http
