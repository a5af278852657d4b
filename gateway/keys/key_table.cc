#include "gateway/keys/key_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/keys/access_key.h"

namespace sandkeep {
namespace {

constexpr std::size_t kPrincipalBytes = 16;

absl::Status CheckName(std::string_view name) {
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (name.empty() || name.size() > kMaxKeyNameBytes || control || !IsUtf8(name)) {
    return absl::InvalidArgumentError(
        StrCat("a name has 1 to ", kMaxKeyNameBytes, " bytes of UTF-8 and no control characters"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> KeyTable::FindOrMakePrincipal(std::string_view name, Random& random,
                                                          std::int64_t now_ms) {
  ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT id FROM principals WHERE name = ?1"));
  ASSIGN_OR_RETURN(const bool found, find.BindText(1, name).Step());
  if (found) return find.Text(0);
  std::string id = StrCat("key-", absl::BytesToHexString(random.Bytes(kPrincipalBytes)));
  ASSIGN_OR_RETURN(
      Statement insert,
      db_.Prepare("INSERT INTO principals (id, name, created_ms) VALUES (?1, ?2, ?3)"));
  RETURN_IF_ERROR(insert.BindText(1, id).BindText(2, name).Bind(3, now_ms).Run());
  return id;
}

absl::StatusOr<Secret> KeyTable::Add(std::string_view name, Random& random, const Clock& clock) {
  RETURN_IF_ERROR(CheckName(name));
  Secret key = MintAccessKey(random);
  const std::int64_t now_ms = absl::ToUnixMillis(clock.Now());
  RETURN_IF_ERROR(db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string principal, FindOrMakePrincipal(name, random, now_ms));
    ASSIGN_OR_RETURN(
        Statement insert,
        db_.Prepare("INSERT INTO access_keys (hash, principal, created_ms) VALUES (?1, ?2, ?3)"));
    return insert.BindBlob(1, HashAccessKey(key.Reveal()))
        .BindText(2, principal)
        .Bind(3, now_ms)
        .Run();
  }));
  return key;
}

absl::StatusOr<std::vector<KeyTable::Row>> KeyTable::List() {
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT name, id, created_ms, (SELECT count(*) FROM access_keys "
                               "WHERE principal = id) FROM principals ORDER BY name"));
  std::vector<Row> rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return rows;
    rows.push_back({.name = read.Text(0),
                    .principal = read.Text(1),
                    .keys = read.Int(3),
                    .created_ms = read.Int(2)});
  }
}

absl::Status KeyTable::Remove(std::string_view name) {
  ASSIGN_OR_RETURN(Statement remove, db_.Prepare("DELETE FROM principals WHERE name = ?1"));
  RETURN_IF_ERROR(remove.BindText(1, name).Run());
  if (db_.Changes() == 0) return absl::NotFoundError(StrCat("no key has the name ", name));
  return absl::OkStatus();
}

absl::StatusOr<KeyOwners> KeyTable::Load() {
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT hash, id, name FROM access_keys JOIN principals "
                               "ON principals.id = access_keys.principal"));
  KeyOwners owners;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return owners;
    ASSIGN_OR_RETURN(PrincipalId principal, PrincipalId::Parse(read.Text(1)));
    owners.emplace(read.Text(0), KeyOwner{std::move(principal), read.Text(2)});
  }
}

}  // namespace sandkeep
