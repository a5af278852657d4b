#include "gateway/downloads/link_table.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"

namespace sandkeep {
namespace {

constexpr std::size_t kSigningKeyBytes = 32;

}  // namespace

absl::StatusOr<std::vector<LinkKey>> LinkTable::Keys() {
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT key, ends_ms FROM signing_keys ORDER BY id DESC"));
  std::vector<LinkKey> keys;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return keys;
    LinkKey key{.secret = Secret(read.Text(0))};
    if (!read.IsNull(1)) key.ends = absl::FromUnixMillis(read.Int(1));
    keys.push_back(std::move(key));
  }
}

absl::Status LinkTable::Insert(const Secret& secret, const Clock& clock) {
  ASSIGN_OR_RETURN(Statement insert,
                   db_.Prepare("INSERT INTO signing_keys (key, created_ms) VALUES (?1, ?2)"));
  return insert.BindBlob(1, secret.Reveal()).Bind(2, absl::ToUnixMillis(clock.Now())).Run();
}

absl::StatusOr<bool> LinkTable::Prepare(const Secret& configured, Random& random,
                                        const Clock& clock) {
  bool taken = true;
  const absl::Status prepared = db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<LinkKey> keys, Keys());
    if (keys.empty()) {
      return Insert(configured.empty() ? Secret(random.Bytes(kSigningKeyBytes)) : configured,
                    clock);
    }
    const bool rotated = std::any_of(keys.begin(), keys.end(), [](const LinkKey& key) {
      return key.ends != absl::InfiniteFuture();
    });
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const LinkKey& key) {
      return key.secret.Reveal() == configured.Reveal();
    });
    if (configured.empty() || known) return absl::OkStatus();
    taken = !rotated;
    return rotated ? absl::OkStatus() : Insert(configured, clock);
  });
  RETURN_IF_ERROR(prepared);
  return taken;
}

absl::StatusOr<LinkSecrets> LinkTable::Load() {
  LinkSecrets secrets;
  ASSIGN_OR_RETURN(secrets.keys, Keys());
  if (secrets.keys.empty()) return absl::DataLossError("no key that signs links");
  ASSIGN_OR_RETURN(Statement epochs, db_.Prepare("SELECT principal, epoch FROM link_epochs"));
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, epochs.Step());
    if (!more) break;
    secrets.epochs.emplace(epochs.Text(0), epochs.Int(1));
  }
  ASSIGN_OR_RETURN(Statement revoked, db_.Prepare("SELECT signature FROM revoked_links"));
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, revoked.Step());
    if (!more) return secrets;
    secrets.revoked.insert(revoked.Text(0));
  }
}

absl::Status LinkTable::Rotate(absl::Duration overlap, Random& random, const Clock& clock) {
  return db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement end,
                     db_.Prepare("UPDATE signing_keys SET ends_ms = min(ifnull(ends_ms, ?1), ?1)"));
    RETURN_IF_ERROR(end.Bind(1, absl::ToUnixMillis(clock.Now() + overlap)).Run());
    return Insert(Secret(random.Bytes(kSigningKeyBytes)), clock);
  });
}

absl::Status LinkTable::RevokeAllOf(std::string_view principal) {
  ASSIGN_OR_RETURN(Statement count,
                   db_.Prepare("INSERT INTO link_epochs (principal, epoch) VALUES (?1, 1) "
                               "ON CONFLICT (principal) DO UPDATE SET epoch = epoch + 1"));
  return count.BindText(1, principal).Run();
}

absl::Status LinkTable::Revoke(std::string_view signature, absl::Time expiry, const Clock& clock) {
  return db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement over, db_.Prepare("DELETE FROM revoked_links WHERE until_ms < ?1"));
    RETURN_IF_ERROR(over.Bind(1, absl::ToUnixMillis(clock.Now())).Run());
    ASSIGN_OR_RETURN(
        Statement insert,
        db_.Prepare("INSERT OR REPLACE INTO revoked_links (signature, until_ms) VALUES (?1, ?2)"));
    return insert.BindBlob(1, signature).Bind(2, absl::ToUnixMillis(expiry)).Run();
  });
}

}  // namespace sandkeep
