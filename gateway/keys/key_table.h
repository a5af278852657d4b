// Principals and their access keys in the database. A name has one principal, which has any number
// of keys; removing the name removes all of it, and the same name added again is a new principal,
// who sees nothing of the old one's.
//
// Calls block on the disk: never on an I/O thread. Belongs to one thread at a time, as its database
// does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/random.h"
#include "common/secret.h"
#include "common/sqlite.h"

namespace sandkeep {

// Whose a key is.
struct KeyOwner {
  PrincipalId principal;
  std::string name;  // For display.
};

// By HashAccessKey.
using KeyOwners = absl::flat_hash_map<std::string, KeyOwner>;

class KeyTable {
 public:
  explicit KeyTable(Database db) : db_(std::move(db)) {}

  // A new key for `name`, whose principal is made if it has none. InvalidArgument: the name is
  // empty, over kMaxKeyNameBytes, not UTF-8, or has control characters.
  absl::StatusOr<Secret> Add(std::string_view name, Random& random, const Clock& clock);

  struct Row {
    std::string name;
    std::string principal;
    std::int64_t keys = 0;
    std::int64_t created_ms = 0;
  };
  absl::StatusOr<std::vector<Row>> List();

  // NotFound: nobody has that name.
  absl::Status Remove(std::string_view name);

  absl::StatusOr<KeyOwners> Load();

  // Differs from the last answer after somebody else has written.
  absl::StatusOr<std::int64_t> Version() { return db_.DataVersion(); }

 private:
  absl::StatusOr<std::string> FindOrMakePrincipal(std::string_view name, Random& random,
                                                  std::int64_t now_ms);

  Database db_;
};

}  // namespace sandkeep
