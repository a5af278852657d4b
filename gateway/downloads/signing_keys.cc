#include "gateway/downloads/signing_keys.h"

#include <utility>

#include "absl/time/time.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

constexpr std::size_t kSigningKeyBytes = 32;

absl::StatusOr<std::vector<Secret>> ReadKeys(Database& db) {
  ASSIGN_OR_RETURN(Statement read, db.Prepare("SELECT key FROM signing_keys ORDER BY id DESC"));
  std::vector<Secret> keys;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return keys;
    keys.emplace_back(read.Text(0));
  }
}

}  // namespace

absl::StatusOr<std::vector<Secret>> LoadSigningKeys(Database& db, const Secret& configured,
                                                    Random& random, const Clock& clock) {
  ASSIGN_OR_RETURN(std::vector<Secret> keys, ReadKeys(db));
  if (keys.empty()) {
    keys.emplace_back(random.Bytes(kSigningKeyBytes));
    ASSIGN_OR_RETURN(Statement insert,
                     db.Prepare("INSERT INTO signing_keys (key, created_ms) VALUES (?1, ?2)"));
    RETURN_IF_ERROR(
        insert.BindBlob(1, keys.front().Reveal()).Bind(2, absl::ToUnixMillis(clock.Now())).Run());
  }
  if (!configured.empty()) keys.insert(keys.begin(), configured);
  return keys;
}

}  // namespace sandkeep
