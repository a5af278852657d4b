#include "common/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Another process (the keys command) may hold the lock for a moment.
constexpr int kBusyMs = 5000;

absl::Status StatusOf(sqlite3* db, int code) {
  const std::string message = StrCat("sqlite: ", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(message);
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return absl::FailedPreconditionError(message);
    default:
      return absl::InternalError(message);
  }
}

std::uintmax_t SizeOf(const std::string& path) {
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

// SQLite takes an empty file for a new one, and the log beside it for nothing.
bool LostItsPages(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(path, none) && SizeOf(path) == 0 && SizeOf(path + "-wal") > 0;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Statement& Statement::Bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::BindText(int index, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  // A null pointer would bind NULL, and an empty blob is a value.
  sqlite3_bind_blob64(statement_.get(), index, bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::BindNull(int index) {
  sqlite3_bind_null(statement_.get(), index);
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  absl::Status status = StatusOf(sqlite3_db_handle(statement_.get()), code);
  Reset();
  return status;
}

absl::Status Statement::Run() {
  const absl::Status status = Step().status();
  Reset();
  return status;
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

absl::StatusOr<Database> Database::Open(const std::string& path, Durability durability,
                                        absl::Span<const std::string_view> migrations) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) return StatusOf(raw, code);
  sqlite3_busy_timeout(raw, kBusyMs);
  RETURN_IF_ERROR(db.Execute("PRAGMA journal_mode=WAL"));
  RETURN_IF_ERROR(db.Execute("PRAGMA foreign_keys=ON"));
  RETURN_IF_ERROR(db.Execute(durability == Durability::kFull ? "PRAGMA synchronous=FULL"
                                                             : "PRAGMA synchronous=NORMAL"));
  RETURN_IF_ERROR(db.Migrate(migrations));
  return db;
}

absl::StatusOr<Database> Database::OpenToRead(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) return StatusOf(raw, code);
  sqlite3_busy_timeout(raw, kBusyMs);
  // Who closes last moves the log into the file, otherwise.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return db;
}

absl::Status Database::CheckWhole(const std::string& path) {
  if (LostItsPages(path)) return absl::DataLossError("it is empty");
  if (SizeOf(path) == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(Database db, OpenToRead(path));
  ASSIGN_OR_RETURN(Statement check, db.Prepare("PRAGMA quick_check(1)"));
  ASSIGN_OR_RETURN(const bool answered, check.Step());
  std::string found = answered ? check.Text(0) : "no answer";
  if (found == "ok") return absl::OkStatus();
  // It fills several lines, and an operator reads one.
  std::replace(found.begin(), found.end(), '\n', ' ');
  return absl::DataLossError(found);
}

absl::Status Database::Migrate(absl::Span<const std::string_view> migrations) {
  // The version is read inside the transaction: two processes may open a new file at once.
  for (;;) {
    bool newest = false;
    RETURN_IF_ERROR(Transact([&]() -> absl::Status {
      ASSIGN_OR_RETURN(Statement read, Prepare("PRAGMA user_version"));
      RETURN_IF_ERROR(read.Step().status());
      const auto version = static_cast<std::size_t>(read.Int(0));
      read.Reset();  // What still reads would hold a table that a migration drops.
      if (version > migrations.size()) {
        return absl::FailedPreconditionError(
            "the database was written by a newer version of this program");
      }
      newest = version == migrations.size();
      if (newest) return absl::OkStatus();
      RETURN_IF_ERROR(Execute(migrations[version]));
      return Execute(StrCat("PRAGMA user_version=", version + 1));
    }));
    if (newest) return absl::OkStatus();
  }
}

absl::StatusOr<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  if (code != SQLITE_OK) return StatusOf(db_.get(), code);
  return Statement(raw);
}

absl::Status Database::Execute(std::string_view sql) {
  const int code = sqlite3_exec(db_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : StatusOf(db_.get(), code);
}

absl::Status Database::LeaveLogToCheckpoints() { return Execute("PRAGMA wal_autocheckpoint=0"); }

absl::Status Database::Checkpoint() {
  RETURN_IF_ERROR(Execute("PRAGMA wal_checkpoint(RESTART)"));
  ASSIGN_OR_RETURN(Statement read, Prepare("PRAGMA user_version"));
  RETURN_IF_ERROR(read.Step().status());
  const std::int64_t version = read.Int(0);
  read.Reset();
  // The smallest write there is: the first one after a checkpoint syncs the log's new beginning.
  return Execute(StrCat("PRAGMA user_version=", version));
}

std::int64_t Database::Changes() const { return sqlite3_changes64(db_.get()); }

absl::StatusOr<std::int64_t> Database::DataVersion() {
  ASSIGN_OR_RETURN(Statement read, Prepare("PRAGMA data_version"));
  RETURN_IF_ERROR(read.Step().status());
  return read.Int(0);
}

}  // namespace sandkeep
