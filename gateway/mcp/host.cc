#include "gateway/mcp/host.h"

#include <utility>

#include "common/limits.h"

namespace sandkeep::mcp {

bool IsPersistent(const agent::v1::Info* host) {
  return host != nullptr && host->profile() == "persistent";
}

bool Host::TakeTurn() {
  const std::lock_guard lock(mutex_);
  const Clock::Monotonic now = clock_.Steady();
  if (now < next_try_) return false;
  next_try_ = now + (info_ == nullptr ? kHostFactsRetry : kHostFactsAge);
  return true;
}

HostInfo Host::Last() const {
  const std::lock_guard lock(mutex_);
  return info_;
}

boost::asio::awaitable<HostInfo> Host::Known() {
  if (TakeTurn()) (void)co_await Fresh();
  const std::lock_guard lock(mutex_);
  co_return info_;
}

Async<agent::v1::Info> Host::Fresh() {
  agent::v1::GetInfoRequest request;
  absl::StatusOr<agent::v1::Info> answer = co_await agent_.GetInfo(std::move(request));
  if (answer.ok()) {
    const std::lock_guard lock(mutex_);
    info_ = std::make_shared<const agent::v1::Info>(*answer);
    next_try_ = clock_.Steady() + kHostFactsAge;
  }
  co_return answer;
}

}  // namespace sandkeep::mcp
