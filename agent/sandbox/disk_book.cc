#include "agent/sandbox/disk_book.h"

#include "absl/time/time.h"
#include "common/limits.h"

namespace sandkeep {

void DiskBook::Write(const HostReading& host, Shares shares) {
  const std::lock_guard lock(mutex_);
  host_ = host;
  shares_ = std::move(shares);
}

void DiskBook::Write(const HostReading& host) {
  const std::lock_guard lock(mutex_);
  host_ = host;
}

HostReading DiskBook::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

DiskShare DiskBook::ShareOf(const PrincipalId& principal) const {
  const std::lock_guard lock(mutex_);
  const auto share = shares_.find(principal);
  return share == shares_.end() ? DiskShare{} : share->second;
}

DiskBook::Shares DiskBook::shares() const {
  const std::lock_guard lock(mutex_);
  return shares_;
}

bool DiskBook::Tell(const SandboxKey& sandbox, std::string_view kind, absl::Time now) {
  const std::lock_guard lock(mutex_);
  const auto [told, first] = told_.try_emplace({sandbox, kind}, now);
  if (!first && now - told->second < absl::FromChrono(kToldAgainAfter)) return false;
  told->second = now;
  return true;
}

void DiskBook::Forget(const SandboxKey& sandbox) {
  const std::lock_guard lock(mutex_);
  std::erase_if(told_, [&](const auto& told) { return told.first.first == sandbox; });
}

}  // namespace sandkeep
