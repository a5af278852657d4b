#include "gateway/store/database.h"

#include <array>
#include <string_view>

#include "common/strings.h"

namespace sandkeep {
namespace {

// Only ever appended to.
constexpr std::array<std::string_view, 1> kMigrations = {{R"sql(
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
)sql"}};

}  // namespace

absl::StatusOr<Database> OpenGatewayDatabase(const std::string& state_dir) {
  return Database::Open(StrCat(state_dir, "/gateway.db"), Database::Durability::kFull, kMigrations);
}

}  // namespace sandkeep
