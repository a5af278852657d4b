#include "gateway/keys/key_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/keys/access_key.h"

namespace sandkeep {
namespace {

constexpr std::size_t kPrincipalBytes = 16;

absl::Status CheckName(std::string_view what, std::string_view name, std::size_t limit) {
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (name.empty() || name.size() > limit || control || !IsUtf8(name)) {
    return absl::InvalidArgumentError(
        StrCat(what, " has 1 to ", limit, " bytes of UTF-8 and no control characters"));
  }
  return absl::OkStatus();
}

// Of keys that were rotated, the old ones have an end.
bool Stays(const KeyTable::Key& key) { return !key.expires_ms.has_value(); }

bool HasDevice(const std::vector<KeyTable::Key>& keys, std::string_view device) {
  return std::any_of(keys.begin(), keys.end(), [device](const KeyTable::Key& key) {
    return Stays(key) && key.device == device;
  });
}

std::string DevicesOf(const std::vector<KeyTable::Key>& keys) {
  std::string devices;
  for (const KeyTable::Key& key : keys) {
    if (Stays(key)) StrAppend(&devices, devices.empty() ? "" : ", ", key.device);
  }
  return devices;
}

}  // namespace

absl::StatusOr<std::string> KeyTable::PrincipalOf(std::string_view name) {
  ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT id FROM principals WHERE name = ?1"));
  ASSIGN_OR_RETURN(const bool found, find.BindText(1, name).Step());
  if (!found) return absl::NotFoundError(StrCat("no key has the name ", name));
  return find.Text(0);
}

absl::StatusOr<std::string> KeyTable::FindOrMakePrincipal(std::string_view name, Random& random,
                                                          std::int64_t now_ms) {
  absl::StatusOr<std::string> found = PrincipalOf(name);
  if (!absl::IsNotFound(found.status())) return found;
  std::string id = StrCat("key-", absl::BytesToHexString(random.Bytes(kPrincipalBytes)));
  ASSIGN_OR_RETURN(
      Statement insert,
      db_.Prepare("INSERT INTO principals (id, name, created_ms) VALUES (?1, ?2, ?3)"));
  RETURN_IF_ERROR(insert.BindText(1, id).BindText(2, name).Bind(3, now_ms).Run());
  return id;
}

absl::StatusOr<std::string> KeyTable::Adopt(std::string_view name) {
  if (PrincipalOf(name).ok()) {
    return absl::AlreadyExistsError(
        StrCat(name, " is in use: only a name that was removed can be adopted"));
  }
  ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT id FROM former_principals WHERE name = ?1 "
                                               "ORDER BY removed_ms DESC, id LIMIT 1"));
  ASSIGN_OR_RETURN(const bool found, find.BindText(1, name).Step());
  if (!found) return absl::NotFoundError(StrCat("nobody of the name ", name, " was removed"));
  std::string id = find.Text(0);
  find.Reset();
  ASSIGN_OR_RETURN(Statement restore,
                   db_.Prepare("INSERT INTO principals (id, name, created_ms) SELECT id, name, "
                               "created_ms FROM former_principals WHERE id = ?1"));
  RETURN_IF_ERROR(restore.BindText(1, id).Run());
  ASSIGN_OR_RETURN(Statement drop, db_.Prepare("DELETE FROM former_principals WHERE id = ?1"));
  RETURN_IF_ERROR(drop.BindText(1, id).Run());
  return id;
}

absl::StatusOr<std::vector<KeyTable::Key>> KeyTable::KeysOf(const std::string& principal) {
  ASSIGN_OR_RETURN(
      Statement read,
      db_.Prepare("SELECT device, created_ms, expires_ms, (SELECT count(*) FROM sign_ins WHERE "
                  "access_key = hash) FROM access_keys WHERE principal = ?1 "
                  "ORDER BY created_ms, device"));
  read.BindText(1, principal);
  std::vector<Key> keys;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return keys;
    keys.push_back(
        {.device = read.Text(0),
         .created_ms = read.Int(1),
         .expires_ms = read.IsNull(2) ? std::nullopt : std::optional<std::int64_t>(read.Int(2)),
         .sign_ins = read.Int(3)});
  }
}

absl::StatusOr<std::string> KeyTable::FreeDevice(const std::string& principal,
                                                 const std::string& wanted) {
  ASSIGN_OR_RETURN(const std::vector<Key> keys, KeysOf(principal));
  if (!wanted.empty()) {
    RETURN_IF_ERROR(CheckName("a device", wanted, kMaxDeviceNameBytes));
    if (!HasDevice(keys, wanted)) return wanted;
    return absl::AlreadyExistsError(
        StrCat(wanted, " has a key: rotate it, or name another device"));
  }
  for (std::size_t number = 1;; ++number) {
    std::string device = StrCat("key", number);
    if (!HasDevice(keys, device)) return device;
  }
}

absl::Status KeyTable::Insert(const Secret& key, const std::string& principal,
                              const std::string& device, std::int64_t now_ms) {
  ASSIGN_OR_RETURN(Statement insert,
                   db_.Prepare("INSERT INTO access_keys (hash, principal, device, created_ms) "
                               "VALUES (?1, ?2, ?3, ?4)"));
  return insert.BindBlob(1, HashAccessKey(key.Reveal()))
      .BindText(2, principal)
      .BindText(3, device)
      .Bind(4, now_ms)
      .Run();
}

absl::Status KeyTable::DropEnded(std::int64_t now_ms) {
  ASSIGN_OR_RETURN(Statement drop, db_.Prepare("DELETE FROM access_keys WHERE expires_ms <= ?1"));
  return drop.Bind(1, now_ms).Run();
}

absl::StatusOr<Secret> KeyTable::Add(std::string_view name, Random& random, const Clock& clock,
                                     const AddOptions& options) {
  RETURN_IF_ERROR(CheckName("a name", name, kMaxKeyNameBytes));
  Secret key = MintAccessKey(random);
  const std::int64_t now_ms = absl::ToUnixMillis(clock.Now());
  RETURN_IF_ERROR(db_.Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(DropEnded(now_ms));
    ASSIGN_OR_RETURN(const std::string principal,
                     options.adopt ? Adopt(name) : FindOrMakePrincipal(name, random, now_ms));
    ASSIGN_OR_RETURN(const std::string device, FreeDevice(principal, options.device));
    return Insert(key, principal, device, now_ms);
  }));
  return key;
}

absl::StatusOr<std::string> KeyTable::PrincipalWithKey(const Secret& key) {
  ASSIGN_OR_RETURN(Statement find,
                   db_.Prepare("SELECT principal FROM access_keys WHERE hash = ?1"));
  ASSIGN_OR_RETURN(const bool found, find.BindBlob(1, HashAccessKey(key.Reveal())).Step());
  return found ? find.Text(0) : std::string();
}

absl::StatusOr<bool> KeyTable::GiveOwner(const Secret& key, Random& random, const Clock& clock) {
  const std::int64_t now_ms = absl::ToUnixMillis(clock.Now());
  bool replaced = false;
  RETURN_IF_ERROR(db_.Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(DropEnded(now_ms));
    ASSIGN_OR_RETURN(const std::string owner, FindOrMakePrincipal(kOwnerName, random, now_ms));
    ASSIGN_OR_RETURN(const std::string holder, PrincipalWithKey(key));
    if (holder == owner) return absl::OkStatus();
    if (!holder.empty()) {
      return absl::AlreadyExistsError("SANDBOX_API_KEY is a key that somebody else has already");
    }
    const absl::Status dropped = RemoveDevice(kOwnerName, kOwnerDevice);
    if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
    replaced = dropped.ok();
    return Insert(key, owner, std::string(kOwnerDevice), now_ms);
  }));
  return replaced;
}

absl::StatusOr<std::string> KeyTable::DeviceToRotate(const std::string& principal,
                                                     std::string_view name,
                                                     const std::optional<std::string>& wanted) {
  ASSIGN_OR_RETURN(const std::vector<Key> keys, KeysOf(principal));
  if (wanted.has_value()) {
    if (HasDevice(keys, *wanted)) return *wanted;
    return absl::NotFoundError(
        StrCat(name, " has no key for ", *wanted, ", but for: ", DevicesOf(keys)));
  }
  const auto staying = std::count_if(keys.begin(), keys.end(), Stays);
  if (staying == 0) return absl::NotFoundError(StrCat(name, " has no key: add one"));
  if (staying > 1) {
    return absl::FailedPreconditionError(
        StrCat(name, " has ", staying, " keys: say which with --device (", DevicesOf(keys), ")"));
  }
  return std::find_if(keys.begin(), keys.end(), Stays)->device;
}

absl::StatusOr<Secret> KeyTable::Rotate(std::string_view name,
                                        const std::optional<std::string>& device,
                                        absl::Duration overlap, Random& random,
                                        const Clock& clock) {
  Secret key = MintAccessKey(random);
  const std::int64_t now_ms = absl::ToUnixMillis(clock.Now());
  RETURN_IF_ERROR(db_.Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(DropEnded(now_ms));
    ASSIGN_OR_RETURN(const std::string principal, PrincipalOf(name));
    ASSIGN_OR_RETURN(const std::string rotated, DeviceToRotate(principal, name, device));
    // With --now, the one that is to end already, too.
    ASSIGN_OR_RETURN(Statement end,
                     db_.Prepare("UPDATE access_keys SET expires_ms = min(ifnull(expires_ms, ?3), "
                                 "?3) WHERE principal = ?1 AND device = ?2"));
    RETURN_IF_ERROR(end.BindText(1, principal)
                        .BindText(2, rotated)
                        .Bind(3, now_ms + absl::ToInt64Milliseconds(overlap))
                        .Run());
    RETURN_IF_ERROR(DropEnded(now_ms));
    return Insert(key, principal, rotated, now_ms);
  }));
  return key;
}

absl::StatusOr<std::vector<KeyTable::Row>> KeyTable::List() {
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT name, id, created_ms FROM principals ORDER BY name"));
  std::vector<Row> rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return rows;
    Row row{.name = read.Text(0), .principal = read.Text(1), .created_ms = read.Int(2), .keys = {}};
    ASSIGN_OR_RETURN(row.keys, KeysOf(row.principal));
    rows.push_back(std::move(row));
  }
}

absl::Status KeyTable::Remove(std::string_view name, const Clock& clock) {
  return db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string principal, PrincipalOf(name));
    ASSIGN_OR_RETURN(
        Statement remember,
        db_.Prepare("INSERT INTO former_principals (id, name, created_ms, removed_ms) SELECT id, "
                    "name, created_ms, ?2 FROM principals WHERE id = ?1"));
    RETURN_IF_ERROR(remember.BindText(1, principal).Bind(2, absl::ToUnixMillis(clock.Now())).Run());
    ASSIGN_OR_RETURN(Statement remove, db_.Prepare("DELETE FROM principals WHERE id = ?1"));
    return remove.BindText(1, principal).Run();
  });
}

absl::Status KeyTable::RemoveDevice(std::string_view name, std::string_view device) {
  ASSIGN_OR_RETURN(const std::string principal, PrincipalOf(name));
  ASSIGN_OR_RETURN(Statement remove,
                   db_.Prepare("DELETE FROM access_keys WHERE principal = ?1 AND device = ?2"));
  RETURN_IF_ERROR(remove.BindText(1, principal).BindText(2, device).Run());
  if (db_.Changes() > 0) return absl::OkStatus();
  return absl::NotFoundError(StrCat(name, " has no key for ", device));
}

absl::StatusOr<KnownKeys> KeyTable::Load() {
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT id, name, hash, expires_ms FROM principals LEFT JOIN "
                               "access_keys ON principals.id = access_keys.principal"));
  KnownKeys known;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return known;
    ASSIGN_OR_RETURN(PrincipalId principal, PrincipalId::Parse(read.Text(0)));
    known.principals.insert(principal.text());
    if (read.IsNull(2)) continue;
    const absl::Time expires =
        read.IsNull(3) ? absl::InfiniteFuture() : absl::FromUnixMillis(read.Int(3));
    known.keys.emplace(read.Text(2), LiveKey{{std::move(principal), read.Text(1)}, expires});
  }
}

}  // namespace sandkeep
