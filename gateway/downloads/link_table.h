// What links are signed with and what was taken back, in the database: the keys, of which the
// newest signs; how often a principal's links were revoked; single links that were.
//
// Calls block on the disk: never on an I/O thread. Belongs to one thread at a time, as its database
// does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/secret.h"
#include "common/sqlite.h"

namespace sandkeep {

struct LinkKey {
  Secret secret;
  absl::Time ends = absl::InfiniteFuture();  // Links signed with it are good until then.
};

struct LinkSecrets {
  std::vector<LinkKey> keys;  // The first signs, every one verifies. Never empty.
  // Of principals whose links were revoked: how often. It is part of what is signed.
  absl::flat_hash_map<std::string, std::int64_t> epochs;
  absl::flat_hash_set<std::string> revoked;  // Signatures.
};

class LinkTable {
 public:
  explicit LinkTable(Database db) : db_(std::move(db)) {}

  // Makes the first key if there is none, out of `configured` (MCP_SIGN_KEY), or 32 random bytes if
  // that is empty. A configured one that wasn't there before is taken up as well, unless the keys
  // have been rotated: from then on they are the database's alone. False: that is so, and the
  // configured one, which is none of them, counts for nothing.
  absl::StatusOr<bool> Prepare(const Secret& configured, Random& random, const Clock& clock);

  absl::StatusOr<LinkSecrets> Load();

  // A new key; the others end after `overlap`.
  absl::Status Rotate(absl::Duration overlap, Random& random, const Clock& clock);
  // Every link made so far for what this principal has. Whoever it may be.
  absl::Status RevokeAllOf(std::string_view principal);
  // This one; forgotten once it is over anyway.
  absl::Status Revoke(std::string_view signature, absl::Time expiry, const Clock& clock);

 private:
  absl::StatusOr<std::vector<LinkKey>> Keys();
  absl::Status Insert(const Secret& secret, const Clock& clock);

  Database db_;
};

}  // namespace sandkeep
