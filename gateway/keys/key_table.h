// Principals and their access keys in the database. A name has one principal, which has any number
// of keys, each for a device; it keeps its identity while keys come, go and are rotated. Removing
// the name removes all of it, and the same name added again is a new principal, who sees nothing of
// the old one's, unless it is adopted.
//
// Calls block on the disk: never on an I/O thread. Belongs to one thread at a time, as its database
// does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/random.h"
#include "common/secret.h"
#include "common/sqlite.h"

namespace sandkeep {

// Whose SANDBOX_API_KEY is, and the device that it stands under.
inline constexpr std::string_view kOwnerName = "owner";
inline constexpr std::string_view kOwnerDevice = "SANDBOX_API_KEY";

// Whose a key is.
struct KeyOwner {
  PrincipalId principal;
  std::string name;  // For display.

  friend bool operator==(const KeyOwner&, const KeyOwner&) = default;
};

struct LiveKey {
  KeyOwner owner;
  absl::Time expires;  // InfiniteFuture: it doesn't end.

  friend bool operator==(const LiveKey&, const LiveKey&) = default;
};

// What stands in the table, keys by HashAccessKey; principals that have no key are there, too.
struct KnownKeys {
  absl::flat_hash_map<std::string, LiveKey> keys;
  absl::flat_hash_set<std::string> principals;

  friend bool operator==(const KnownKeys&, const KnownKeys&) = default;
};

class KeyTable {
 public:
  explicit KeyTable(Database db) : db_(std::move(db)) {}

  struct AddOptions {
    std::string device;  // Empty: the first free of `key1`, `key2`, …
    bool adopt = false;  // The name was removed, and is to be who it was.
  };
  // A new key for `name`, whose principal is made if it has none. InvalidArgument: a name is empty,
  // too long, not UTF-8, or has control characters. AlreadyExists: the device has a key, or the
  // name to adopt is in use. NotFound: nobody to adopt.
  absl::StatusOr<Secret> Add(std::string_view name, Random& random, const Clock& clock,
                             const AddOptions& options);
  absl::StatusOr<Secret> Add(std::string_view name, Random& random, const Clock& clock) {
    return Add(name, random, clock, AddOptions());
  }

  // A new key in place of that of `device`, or of the only one; the old one is good for `overlap`
  // yet. FailedPrecondition: the name has several keys, and `device` says none.
  absl::StatusOr<Secret> Rotate(std::string_view name, const std::optional<std::string>& device,
                                absl::Duration overlap, Random& random, const Clock& clock);

  // Makes `key` the one that SANDBOX_API_KEY says: a key of kOwnerName, in place of the one that it
  // said before. True: there was another one before. AlreadyExists: it is somebody else's key.
  absl::StatusOr<bool> GiveOwner(const Secret& key, Random& random, const Clock& clock);

  struct Key {
    std::string device;
    std::int64_t created_ms = 0;
    std::optional<std::int64_t> expires_ms;
    std::int64_t sign_ins = 0;
  };
  struct Row {
    std::string name;
    std::string principal;
    std::int64_t created_ms = 0;
    std::vector<Key> keys;
  };
  absl::StatusOr<std::vector<Row>> List();

  // Whom `name` names. NotFound: nobody has that name.
  absl::StatusOr<std::string> PrincipalOf(std::string_view name);

  // The whole principal, its keys and their sign-ins. NotFound: nobody has that name.
  absl::Status Remove(std::string_view name, const Clock& clock);
  // One device's keys and their sign-ins; the principal stays.
  absl::Status RemoveDevice(std::string_view name, std::string_view device);

  absl::StatusOr<KnownKeys> Load();

  // Differs from the last answer after somebody else has written.
  absl::StatusOr<std::int64_t> Version() { return db_.DataVersion(); }

 private:
  absl::StatusOr<std::string> FindOrMakePrincipal(std::string_view name, Random& random,
                                                  std::int64_t now_ms);
  absl::StatusOr<std::string> Adopt(std::string_view name);
  absl::StatusOr<std::string> FreeDevice(const std::string& principal, const std::string& wanted);
  absl::StatusOr<std::string> DeviceToRotate(const std::string& principal, std::string_view name,
                                             const std::optional<std::string>& wanted);
  absl::StatusOr<std::vector<Key>> KeysOf(const std::string& principal);
  absl::Status Insert(const Secret& key, const std::string& principal, const std::string& device,
                      std::int64_t now_ms);
  // Empty: nobody's.
  absl::StatusOr<std::string> PrincipalWithKey(const Secret& key);
  absl::Status DropEnded(std::int64_t now_ms);

  Database db_;
};

}  // namespace sandkeep
