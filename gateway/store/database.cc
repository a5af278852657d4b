#include "gateway/store/database.h"

#include <array>
#include <string>
#include <string_view>

#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/store/state_dir.h"

namespace sandkeep {
namespace {

// Only ever appended to.
constexpr std::array<std::string_view, 6> kMigrations = {{R"sql(
CREATE TABLE principals (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The key itself is nowhere: only its SHA-256.
CREATE TABLE access_keys (
  hash BLOB NOT NULL PRIMARY KEY,
  principal TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX access_keys_by_principal ON access_keys (principal);

-- Rows, so that keys can be rotated: the newest signs, every one verifies.
CREATE TABLE signing_keys (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;
)sql",
                                                          R"sql(
-- Names a principal's keys for people. NULL: a key that doesn't end.
ALTER TABLE access_keys ADD COLUMN device TEXT NOT NULL DEFAULT '';
ALTER TABLE access_keys ADD COLUMN expires_ms INTEGER;
UPDATE access_keys SET device = 'key' || (
  SELECT count(*) FROM access_keys AS other
  WHERE other.principal = access_keys.principal
    AND (other.created_ms, other.hash) <= (access_keys.created_ms, access_keys.hash));

-- Removed names, so that `keys add --adopt` can bring a principal back.
CREATE TABLE former_principals (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  removed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The authorization server's own: signs client ids and forms, and makes successors of refresh
-- tokens. One row.
CREATE TABLE oauth_secrets (
  id INTEGER PRIMARY KEY,
  secret BLOB NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;

-- Clients that somebody has let in. `id` is the SHA-256 of the client_id, which holds the rest.
CREATE TABLE oauth_clients (
  id BLOB NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  redirect_target TEXT NOT NULL,
  first_consent_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Codes, refresh and access tokens are nowhere: only their SHA-256. All go with the key that was
-- signed in with.
CREATE TABLE oauth_codes (
  hash BLOB NOT NULL PRIMARY KEY,
  client BLOB NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  access_key BLOB NOT NULL REFERENCES access_keys (hash) ON DELETE CASCADE,
  redirect_uri TEXT NOT NULL,
  challenge TEXT NOT NULL,
  scope TEXT NOT NULL,
  resource TEXT NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_codes_by_key ON oauth_codes (access_key);

-- A redeemed code and all tokens that came of it: they end together.
CREATE TABLE sign_ins (
  id INTEGER PRIMARY KEY,
  code BLOB NOT NULL UNIQUE,
  client BLOB NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  access_key BLOB NOT NULL REFERENCES access_keys (hash) ON DELETE CASCADE,
  scope TEXT NOT NULL,
  resource TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  used_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_ins_by_key ON sign_ins (access_key, used_ms);

-- used_ms NULL: the newest of its sign-in.
CREATE TABLE refresh_tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  sign_in INTEGER NOT NULL REFERENCES sign_ins (id) ON DELETE CASCADE,
  expires_ms INTEGER NOT NULL,
  used_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_tokens_by_sign_in ON refresh_tokens (sign_in);

CREATE TABLE access_tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  sign_in INTEGER NOT NULL REFERENCES sign_ins (id) ON DELETE CASCADE,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX access_tokens_by_sign_in ON access_tokens (sign_in);
)sql",
                                                          R"sql(
-- Until when a rotated key's links are good. NULL: it wasn't rotated.
ALTER TABLE signing_keys ADD COLUMN ends_ms INTEGER;

-- How often all links of a principal were revoked; it is part of what is signed.
CREATE TABLE link_epochs (
  principal TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Single ones, until nobody could use them anyway.
CREATE TABLE revoked_links (
  signature BLOB NOT NULL PRIMARY KEY,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Pages on which a person may hand files in. `hash` is the SHA-256 of the token that opens one.
CREATE TABLE uploads (
  hash BLOB NOT NULL PRIMARY KEY,
  principal TEXT NOT NULL,
  label TEXT NOT NULL,
  path BLOB NOT NULL,
  folder INTEGER NOT NULL,
  max_bytes INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What arrived by them.
CREATE TABLE upload_files (
  id INTEGER PRIMARY KEY,
  upload BLOB NOT NULL REFERENCES uploads (hash) ON DELETE CASCADE,
  path BLOB NOT NULL,
  size INTEGER NOT NULL
) STRICT;
CREATE INDEX upload_files_by_upload ON upload_files (upload);

-- What began to, and lies beside its place in the workspace.
CREATE TABLE upload_parts (
  upload BLOB NOT NULL REFERENCES uploads (hash) ON DELETE CASCADE,
  path BLOB NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY (upload, path)
) STRICT, WITHOUT ROWID;
)sql",
                                                          R"sql(
-- When it was opened: it ends some time after, however often it is extended.
ALTER TABLE uploads ADD COLUMN opened_ms INTEGER NOT NULL DEFAULT 0;
UPDATE uploads SET opened_ms = expires_ms - 3600000;

-- What its sender called it: who asks once more is told what became of it.
ALTER TABLE upload_files ADD COLUMN sent_as BLOB NOT NULL DEFAULT x'';
ALTER TABLE upload_files ADD COLUMN sent_id TEXT NOT NULL DEFAULT '';
)sql",
                                                          R"sql(
-- Two files may have one name: what their sender calls them tells them apart.
CREATE TABLE upload_parts_by_id (
  upload BLOB NOT NULL REFERENCES uploads (hash) ON DELETE CASCADE,
  path BLOB NOT NULL,
  size INTEGER NOT NULL,
  sent_id TEXT NOT NULL,
  PRIMARY KEY (upload, path, size, sent_id)
) STRICT, WITHOUT ROWID;
INSERT INTO upload_parts_by_id SELECT upload, path, size, '' FROM upload_parts;
DROP TABLE upload_parts;
ALTER TABLE upload_parts_by_id RENAME TO upload_parts;
)sql",
                                                          R"sql(
-- Of the volume that its files are for; empty: there was none yet.
ALTER TABLE uploads ADD COLUMN generation BLOB NOT NULL DEFAULT x'';
)sql"}};

// The log goes along: it would be written into whatever stands in the database's place.
absl::Status Explain(const std::string& path, const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(
      StrCat(path, " is damaged (", ToStd(status.message()),
             ") and was left as it is: move it away with the files beside it that end in -wal and "
             "-shm; then put a backup in its place, or begin anew without any key or sign-in"));
}

}  // namespace

absl::StatusOr<Database> OpenGatewayDatabase(const std::string& state_dir) {
  const std::string path = StrCat(state_dir, "/gateway.db");
  const absl::Status whole = Database::CheckWhole(path);
  if (!whole.ok()) return Explain(path, whole);
  absl::StatusOr<Database> db = Database::Open(path, Database::Durability::kFull, kMigrations);
  if (!db.ok()) return Explain(path, db.status());
  return db;
}

absl::StatusOr<Database> OpenAsOwner(const std::string& state_dir) {
  RETURN_IF_ERROR(BecomeOwnerOf(state_dir));
  RETURN_IF_ERROR(PrepareStateDir(state_dir));
  return OpenGatewayDatabase(state_dir);
}

}  // namespace sandkeep
