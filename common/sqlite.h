// SQLite's C API behind Status. A Database belongs to one thread or strand at a time; calls block
// on the disk, so never on an I/O thread.
//
//   ASSIGN_OR_RETURN(Statement find, db.Prepare("SELECT name FROM keys WHERE hash = ?1"));
//   find.Bind(1, Blob(hash));
//   ASSIGN_OR_RETURN(bool found, find.Step());
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sandkeep {

class Statement {
 public:
  Statement& Bind(int index, std::int64_t value);
  Statement& BindText(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& BindNull(int index);

  // True: a row is there. False: done.
  absl::StatusOr<bool> Step();
  // Runs a statement that returns no rows, and makes it ready for the next.
  absl::Status Run();
  void Reset();

  std::int64_t Int(int column) const;
  std::string Text(int column) const;  // Or blob.
  bool IsNull(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Durability {
    kNormal,  // Process death loses nothing; a power cut may lose the last writes.
    kFull,    // Not even a power cut does.
  };

  // Opens or makes the file (mode by the umask, which every main sets to 0077) in WAL mode and
  // brings it to the newest schema: migrations[i] takes user_version i to i + 1, each in a
  // transaction of its own. FailedPrecondition: the file is of a newer version than this program.
  static absl::StatusOr<Database> Open(const std::string& path, Durability durability,
                                       absl::Span<const std::string_view> migrations);

  // The file as it is: whatever is found in it, neither it nor its log is written to, not even when
  // this is closed.
  static absl::StatusOr<Database> OpenToRead(const std::string& path);

  // DataLoss, with what was found: the file is damaged. A damaged page is otherwise found only when
  // it is needed. To be asked before anything is written: the log beside the file may have the only
  // whole copy of what the file lost.
  static absl::Status CheckWhole(const std::string& path);

  absl::StatusOr<Statement> Prepare(std::string_view sql);
  absl::Status Execute(std::string_view sql);
  std::int64_t Changes() const;
  // Commits no longer move the log into the file by themselves, which waits for the disk.
  absl::Status LeaveLogToCheckpoints();
  // Moves it, and begins the log anew, so that no later commit has to sync for that.
  absl::Status Checkpoint();
  // Differs from the last answer after another connection has written.
  absl::StatusOr<std::int64_t> DataVersion();

  // Runs `body` in one immediate transaction; an error rolls it back.
  template <typename Body>
  absl::Status Transact(Body body) {
    if (absl::Status begun = Execute("BEGIN IMMEDIATE"); !begun.ok()) return begun;
    absl::Status done = body();
    absl::Status ended = Execute(done.ok() ? "COMMIT" : "ROLLBACK");
    if (!done.ok()) return done;
    // One that found no room is still open, and there could be no other.
    if (!ended.ok()) Execute("ROLLBACK").IgnoreError();
    return ended;
  }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  explicit Database(sqlite3* db) : db_(db) {}
  absl::Status Migrate(absl::Span<const std::string_view> migrations);
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace sandkeep
