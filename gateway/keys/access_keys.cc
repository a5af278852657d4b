#include "gateway/keys/access_keys.h"

#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/keys/access_key.h"

namespace sandkeep {

absl::StatusOr<std::unique_ptr<AccessKeys>> AccessKeys::Start(KeyTable table, const Clock& clock,
                                                              Also also) {
  // In this order: a change between the two is read again.
  ASSIGN_OR_RETURN(const std::int64_t version, table.Version());
  ASSIGN_OR_RETURN(KnownKeys known, table.Load());
  return std::unique_ptr<AccessKeys>(
      new AccessKeys(std::move(table), clock, std::move(also), version, std::move(known)));
}

AccessKeys::AccessKeys(KeyTable table, const Clock& clock, Also also, std::int64_t version,
                       KnownKeys known)
    : clock_(clock),
      table_(std::move(table)),
      also_(std::move(also)),
      version_(version),
      known_(std::make_shared<const KnownKeys>(std::move(known))),
      thread_(&AccessKeys::Refresh, this) {}

AccessKeys::~AccessKeys() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::shared_ptr<const KnownKeys> AccessKeys::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

std::optional<KeyOwner> AccessKeys::FindByHash(std::string_view hash) const {
  const std::shared_ptr<const KnownKeys> known = Snapshot();
  const auto found = known->keys.find(ToAbsl(hash));
  if (found == known->keys.end() || found->second.expires <= clock_.Now()) return std::nullopt;
  return found->second.owner;
}

std::optional<KeyOwner> AccessKeys::Find(std::string_view key) {
  std::optional<KeyOwner> owner = FindByHash(HashAccessKey(key));
  if (owner.has_value()) return owner;
  const std::lock_guard lock(mutex_);
  // The first of several tells it.
  if (!std::exchange(missed_, true)) changed_.notify_one();
  return std::nullopt;
}

bool AccessKeys::HasPrincipal(std::string_view principal) const {
  return Snapshot()->principals.contains(ToAbsl(principal));
}

bool AccessKeys::empty() const { return Snapshot()->keys.empty(); }

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
  absl::StatusOr<KnownKeys> known = table_.Load();
  if (!version.ok() || !known.ok()) {
    // The keys that were known stay good; the next turn tries again.
    Log(Severity::kWarning, "keys.unreadable",
        {{"why", version.ok() ? known.status() : version.status()}});
    return;
  }
  const absl::Status also = also_ ? also_() : absl::OkStatus();
  if (also.ok()) {
    version_ = *version;
  } else {
    Log(Severity::kWarning, "keys.rest_unreadable", {{"why", also}});
  }
  // Sign-ins are written to the same database, and mean nothing here.
  if (*known == *Snapshot()) return;
  auto fresh = std::make_shared<const KnownKeys>(*std::move(known));
  Log(Severity::kInfo, "keys.read", {{"count", fresh->keys.size()}});
  const std::lock_guard lock(mutex_);
  known_.swap(fresh);
}

}  // namespace sandkeep
