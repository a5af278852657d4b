#include "agent/store/sqlite_store.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <cerrno>

#include "agent/store/rows.h"
#include "agent/store/schema.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

// Reads every row; one that this program can't have written is left out and logged: a damaged row
// must not keep the others from starting, and a sandbox's comes back from the binding of its
// volume.
template <typename Row>
absl::StatusOr<std::vector<Row>> ReadAll(Database& db, const std::string& sql,
                                         absl::StatusOr<Row> (*read)(const Statement&)) {
  ASSIGN_OR_RETURN(Statement select, db.Prepare(sql));
  std::vector<Row> rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return rows;
    absl::StatusOr<Row> row = read(select);
    if (row.ok()) {
      rows.push_back(*std::move(row));
    } else {
      Log(Severity::kError, "store.row_dropped", {{"why", row.status()}});
    }
  }
}

std::string PutSql(std::string_view table, std::string_view columns) {
  std::string marks = "?1";
  const std::size_t count = Split(columns, ',').size();
  for (std::size_t i = 2; i <= count; ++i) StrAppend(&marks, ", ?", i);
  return StrCat("INSERT OR REPLACE INTO ", table, " (", columns, ") VALUES (", marks, ")");
}

// Beyond the log's end, where it is written to next. Without such room records wait for some, as
// all else does. SQLite keeps no lock on the log, which a close here would take from it.
void ReserveLog(const std::string& path) {
  const std::string log = path + "-wal";
  const UniqueFd file(::open(log.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  const bool reserved =
      file && ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, kLogReserveBytes) == 0;
  if (reserved) return;
  Log(Severity::kWarning, "store.log_not_reserved", {{"why", ErrnoStatus(errno, log)}});
}

absl::Status WithRemedy(const absl::Status& status, const std::string& path) {
  return absl::DataLossError(
      StrCat(path, " is damaged (", ToStd(status.message()),
             ") and was left as it is: move it away with the files beside it that end in -wal and "
             "-shm. Sandboxes and files are found again from their volumes, only records of "
             "commands are lost"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path) {
  RETURN_IF_ERROR(Database::CheckWhole(path));
  ASSIGN_OR_RETURN(Database durable,
                   Database::Open(path, Database::Durability::kFull, kStoreMigrations));
  ASSIGN_OR_RETURN(Database quick,
                   Database::Open(path, Database::Durability::kNormal, kStoreMigrations));
  RETURN_IF_ERROR(quick.LeaveLogToCheckpoints());
  ReserveLog(path);
  ASSIGN_OR_RETURN(Statement put_job, quick.Prepare(PutSql("jobs", kJobColumns)));
  ASSIGN_OR_RETURN(Statement touch,
                   quick.Prepare("UPDATE sandboxes SET last_used = ?2 WHERE key = ?1"));
  return std::unique_ptr<SqliteStore>(new SqliteStore({.durable = std::move(durable),
                                                       .quick = std::move(quick),
                                                       .put_job = std::move(put_job),
                                                       .touch_sandbox = std::move(touch)}));
}

SqliteStore::~SqliteStore() {
  thread_.stop();
  thread_.join();
}

Async<std::vector<SandboxRow>> SqliteStore::LoadSandboxes() {
  auto body = [this]() {
    return ReadAll(db_.durable, StrCat("SELECT ", kSandboxColumns, " FROM sandboxes"),
                   &ReadSandbox);
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::PutSandbox(SandboxRow row) {
  auto body = [this, row = std::move(row)]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement put, db_.durable.Prepare(PutSql("sandboxes", kSandboxColumns)));
    BindSandbox(put, row);
    return put.Run();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::SetContainer(SandboxKey key, std::optional<EngineName> container) {
  auto body = [this, key = std::move(key), container = std::move(container)]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement set,
                     db_.durable.Prepare("UPDATE sandboxes SET container = ?2 WHERE key = ?1"));
    set.BindText(1, key.text());
    if (container) {
      set.BindText(2, container->text());
    } else {
      set.BindNull(2);
    }
    RETURN_IF_ERROR(set.Run());
    if (db_.durable.Changes() == 0) return absl::NotFoundError("no row of that sandbox");
    return absl::OkStatus();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::TouchSandbox(SandboxKey key, absl::Time last_used) {
  auto body = [this, key = std::move(key), last_used]() -> absl::Status {
    db_.touch_sandbox.BindText(1, key.text()).Bind(2, TimeColumn(last_used));
    RETURN_IF_ERROR(db_.touch_sandbox.Run());
    if (db_.quick.Changes() == 0) return absl::NotFoundError("no row of that sandbox");
    return absl::OkStatus();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::SetRest(SandboxKey key, Rest rest, absl::Time since) {
  auto body = [this, key = std::move(key), rest, since]() -> absl::Status {
    ASSIGN_OR_RETURN(
        Statement set,
        db_.quick.Prepare("UPDATE sandboxes SET rest = ?2, rest_since = ?3 WHERE key = ?1"));
    return set.BindText(1, key.text()).Bind(2, RestColumn(rest)).Bind(3, TimeColumn(since)).Run();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::SetReinstall(SandboxKey key, std::string command) {
  auto body = [this, key = std::move(key), command = std::move(command)]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement set,
                     db_.quick.Prepare("UPDATE sandboxes SET reinstall = ?2 WHERE key = ?1"));
    return set.BindText(1, key.text()).BindText(2, command).Run();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::SetDisk(SandboxKey key, DiskRow disk) {
  auto body = [this, key = std::move(key), disk]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement set, db_.quick.Prepare("UPDATE sandboxes SET workspace_bytes = ?2, "
                                                      "layer_bytes = ?3, names = ?4, paused = ?5 "
                                                      "WHERE key = ?1"));
    set.BindText(1, key.text()).Bind(2, disk.workspace).Bind(3, disk.layer);
    return set.Bind(4, disk.names).Bind(5, disk.paused).Run();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::DeleteSandbox(SandboxKey key) {
  auto body = [this, key = std::move(key)]() -> absl::Status {
    return db_.durable.Transact([&]() -> absl::Status {
      ASSIGN_OR_RETURN(Statement jobs, db_.durable.Prepare("DELETE FROM jobs WHERE sandbox = ?1"));
      RETURN_IF_ERROR(jobs.BindText(1, key.text()).Run());
      ASSIGN_OR_RETURN(Statement row, db_.durable.Prepare("DELETE FROM sandboxes WHERE key = ?1"));
      return row.BindText(1, key.text()).Run();
    });
  };
  return OnThread(std::move(body));
}

Async<std::vector<WarmRow>> SqliteStore::LoadWarm() {
  auto body = [this]() {
    return ReadAll(db_.durable, StrCat("SELECT ", kWarmColumns, " FROM warm"), &ReadWarm);
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::PutWarm(WarmRow row) {
  auto body = [this, row = std::move(row)]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement put, db_.durable.Prepare(PutSql("warm", kWarmColumns)));
    return put.BindText(1, row.container.text()).BindText(2, row.volume.text()).Run();
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::DeleteWarm(EngineName container) {
  auto body = [this, container = std::move(container)]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement row, db_.durable.Prepare("DELETE FROM warm WHERE container = ?1"));
    return row.BindText(1, container.text()).Run();
  };
  return OnThread(std::move(body));
}

Async<std::vector<JobRow>> SqliteStore::LoadJobs() {
  auto body = [this]() {
    return ReadAll(db_.quick, StrCat("SELECT ", kJobColumns, " FROM jobs ORDER BY started, id"),
                   &ReadJob);
  };
  return OnThread(std::move(body));
}

Async<void> SqliteStore::PutJob(JobRow row) {
  if (const std::optional<absl::Status> put = PutJobsHere({&row, 1})) co_return *put;
  auto body = [this, row = std::move(row)]() { return PutAll({&row, 1}); };
  auto queued = OnThread(std::move(body));
  co_return co_await std::move(queued);
}

Async<void> SqliteStore::PutJobs(std::vector<JobRow> rows) {
  if (const std::optional<absl::Status> put = PutJobsHere(rows)) co_return *put;
  auto body = [this, rows = std::move(rows)]() { return PutAll(rows); };
  auto queued = OnThread(std::move(body));
  co_return co_await std::move(queued);
}

absl::Status SqliteStore::PutAll(absl::Span<const JobRow> rows) {
  const auto put = [this](const JobRow& row) {
    BindJob(db_.put_job, row);
    return db_.put_job.Run();
  };
  // A statement alone is a transaction.
  if (rows.size() == 1) return put(rows.front());
  return db_.quick.Transact([&]() -> absl::Status {
    for (const JobRow& row : rows) RETURN_IF_ERROR(put(row));
    return absl::OkStatus();
  });
}

std::optional<absl::Status> SqliteStore::PutJobsHere(absl::Span<const JobRow> rows) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || queued_ > 0) return std::nullopt;
  absl::Status put = PutAll(rows);
  puts_since_checkpoint_ += static_cast<int>(rows.size());
  if (puts_since_checkpoint_ >= kPutsPerCheckpoint) {
    puts_since_checkpoint_ = 0;
    CheckpointSoon();
  }
  return put;
}

void SqliteStore::CheckpointSoon() {
  ++queued_;
  auto checkpoint = [this]() {
    const std::lock_guard lock(mutex_);
    const absl::Status done = db_.quick.Checkpoint();
    if (!done.ok()) Log(Severity::kWarning, "store.not_checkpointed", {{"why", done}});
    --queued_;
  };
  boost::asio::post(thread_.get_executor(), std::move(checkpoint));
}

Async<void> SqliteStore::DeleteJobs(std::vector<JobKey> jobs) {
  auto body = [this, jobs = std::move(jobs)]() -> absl::Status {
    return db_.quick.Transact([&]() -> absl::Status {
      ASSIGN_OR_RETURN(Statement row,
                       db_.quick.Prepare("DELETE FROM jobs WHERE sandbox = ?1 AND id = ?2"));
      for (const JobKey& job : jobs) {
        RETURN_IF_ERROR(row.BindText(1, job.sandbox.text()).BindBlob(2, job.id.bytes()).Run());
      }
      return absl::OkStatus();
    });
  };
  return OnThread(std::move(body));
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& state_dir) {
  const std::string path = StrCat(state_dir, "/agent.db");
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  if (store.ok()) return *std::move(store);
  const bool damaged = absl::IsDataLoss(store.status());
  return damaged ? WithRemedy(store.status(), path) : store.status();
}

}  // namespace sandkeep
