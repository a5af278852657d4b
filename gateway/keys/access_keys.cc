#include "gateway/keys/access_keys.h"

#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "gateway/keys/access_key.h"

namespace sandkeep {

absl::StatusOr<std::unique_ptr<AccessKeys>> AccessKeys::Start(KeyTable table) {
  // In this order: a change between the two is read again.
  ASSIGN_OR_RETURN(const std::int64_t version, table.Version());
  ASSIGN_OR_RETURN(KeyOwners owners, table.Load());
  return std::unique_ptr<AccessKeys>(new AccessKeys(std::move(table), version, std::move(owners)));
}

AccessKeys::AccessKeys(KeyTable table, std::int64_t version, KeyOwners owners)
    : table_(std::move(table)),
      version_(version),
      owners_(std::make_shared<const KeyOwners>(std::move(owners))),
      thread_(&AccessKeys::Refresh, this) {}

AccessKeys::~AccessKeys() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::shared_ptr<const KeyOwners> AccessKeys::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return owners_;
}

std::optional<KeyOwner> AccessKeys::Find(std::string_view key) {
  const std::shared_ptr<const KeyOwners> owners = Snapshot();
  const auto found = owners->find(HashAccessKey(key));
  if (found != owners->end()) return found->second;
  const std::lock_guard lock(mutex_);
  // The first of several tells it.
  if (!std::exchange(missed_, true)) changed_.notify_one();
  return std::nullopt;
}

bool AccessKeys::empty() const { return Snapshot()->empty(); }

void AccessKeys::Refresh() {
  while (WaitForNextRefresh()) ReadAgainIfChanged();
}

// False: stop. The pause comes first, so that unknown keys can't make this thread spin.
bool AccessKeys::WaitForNextRefresh() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kKeyRefreshPause, [this] { return stop_; })) return false;
  changed_.wait_for(lock, kKeyRefreshInterval - kKeyRefreshPause,
                    [this] { return stop_ || missed_; });
  missed_ = false;
  return !stop_;
}

void AccessKeys::ReadAgainIfChanged() {
  const absl::StatusOr<std::int64_t> version = table_.Version();
  if (version.ok() && *version == version_) return;
  absl::StatusOr<KeyOwners> owners = table_.Load();
  if (!version.ok() || !owners.ok()) {
    // The keys that were known stay good; the next turn tries again.
    Log(Severity::kWarning, "keys.unreadable",
        {{"why", version.ok() ? owners.status() : version.status()}});
    return;
  }
  version_ = *version;
  auto fresh = std::make_shared<const KeyOwners>(*std::move(owners));
  Log(Severity::kInfo, "keys.read", {{"count", fresh->size()}});
  const std::lock_guard lock(mutex_);
  owners_.swap(fresh);
}

}  // namespace sandkeep
