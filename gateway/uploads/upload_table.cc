#include "gateway/uploads/upload_table.h"

#include <algorithm>

#include "common/status_macros.h"

namespace sandkeep {

namespace {

UploadRow* Find(std::vector<UploadRow>& rows, const std::string& hash) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const UploadRow& each) { return each.hash == hash; });
  return row == rows.end() ? nullptr : &*row;
}

absl::Status ReadFiles(Statement read, std::vector<UploadRow>& rows) {
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    UploadRow* const row = Find(rows, read.Text(0));
    if (row == nullptr) continue;
    row->files.push_back({.file = {.path = read.Text(1), .size = read.Int(2)},
                          .sent_as = read.Text(3),
                          .sent_id = read.Text(4)});
  }
}

absl::Status ReadParts(Statement read, std::vector<UploadRow>& rows) {
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    UploadRow* const row = Find(rows, read.Text(0));
    if (row == nullptr) continue;
    row->parts.push_back({.path = read.Text(1), .size = read.Int(2), .id = read.Text(3)});
  }
}

// A statement of an upload's hash and of a part's path, size and id.
absl::Status RunFor(const SentFile& part, std::string_view hash,
                    absl::StatusOr<Statement> statement) {
  RETURN_IF_ERROR(statement.status());
  statement->BindBlob(1, hash).BindBlob(2, part.path).Bind(3, part.size);
  return statement->BindText(4, part.id).Run();
}

}  // namespace

absl::StatusOr<std::vector<UploadRow>> UploadTable::Load() {
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT hash, principal, label, path, folder, max_bytes, "
                               "expires_ms, done, opened_ms, generation FROM uploads"));
  std::vector<UploadRow> rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) break;
    rows.push_back({.hash = read.Text(0),
                    .request = {.principal = read.Text(1),
                                .label = read.Text(2),
                                .path = read.Text(3),
                                .folder = read.Int(4) != 0,
                                .max_bytes = read.Int(5)},
                    .generation = read.Text(9),
                    .opened = absl::FromUnixMillis(read.Int(8)),
                    .expires = absl::FromUnixMillis(read.Int(6)),
                    .done = read.Int(7) != 0,
                    .files = {},
                    .parts = {}});
  }
  ASSIGN_OR_RETURN(Statement files,
                   db_.Prepare("SELECT upload, path, size, sent_as, sent_id FROM upload_files "
                               "ORDER BY id"));
  RETURN_IF_ERROR(ReadFiles(std::move(files), rows));
  ASSIGN_OR_RETURN(Statement parts,
                   db_.Prepare("SELECT upload, path, size, sent_id FROM upload_parts"));
  RETURN_IF_ERROR(ReadParts(std::move(parts), rows));
  return rows;
}

absl::Status UploadTable::Add(const UploadRow& row) {
  ASSIGN_OR_RETURN(
      Statement add,
      db_.Prepare("INSERT INTO uploads (hash, principal, label, path, folder, max_bytes, "
                  "expires_ms, done, opened_ms, generation) "
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9)"));
  return add.BindBlob(1, row.hash)
      .BindText(2, row.request.principal)
      .BindText(3, row.request.label)
      .BindBlob(4, row.request.path)
      .Bind(5, row.request.folder ? 1 : 0)
      .Bind(6, row.request.max_bytes)
      .Bind(7, absl::ToUnixMillis(row.expires))
      .Bind(8, absl::ToUnixMillis(row.opened))
      .BindBlob(9, row.generation)
      .Run();
}

absl::Status UploadTable::Extend(std::string_view hash, absl::Time expires) {
  ASSIGN_OR_RETURN(Statement set,
                   db_.Prepare("UPDATE uploads SET expires_ms = ?2 WHERE hash = ?1"));
  return set.BindBlob(1, hash).Bind(2, absl::ToUnixMillis(expires)).Run();
}

absl::Status UploadTable::End(std::string_view hash) {
  ASSIGN_OR_RETURN(Statement set, db_.Prepare("UPDATE uploads SET done = 1 WHERE hash = ?1"));
  return set.BindBlob(1, hash).Run();
}

absl::Status UploadTable::Bind(std::string_view hash, std::string_view generation) {
  ASSIGN_OR_RETURN(Statement set,
                   db_.Prepare("UPDATE uploads SET generation = ?2 WHERE hash = ?1"));
  return set.BindBlob(1, hash).BindBlob(2, generation).Run();
}

absl::Status UploadTable::AddPart(std::string_view hash, const SentFile& part) {
  return RunFor(part, hash,
                db_.Prepare("INSERT OR REPLACE INTO upload_parts (upload, path, size, sent_id) "
                            "VALUES (?1, ?2, ?3, ?4)"));
}

absl::Status UploadTable::DropPart(std::string_view hash, const SentFile& part) {
  return RunFor(part, hash,
                db_.Prepare("DELETE FROM upload_parts WHERE upload = ?1 AND path = ?2 AND "
                            "size = ?3 AND sent_id = ?4"));
}

absl::Status UploadTable::AddFile(std::string_view hash, const UploadedFile& file) {
  return db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement add,
                     db_.Prepare("INSERT INTO upload_files (upload, path, size, sent_as, sent_id) "
                                 "VALUES (?1, ?2, ?3, ?4, ?5)"));
    add.BindBlob(1, hash).BindBlob(2, file.file.path).Bind(3, file.file.size);
    RETURN_IF_ERROR(add.BindBlob(4, file.sent_as).BindText(5, file.sent_id).Run());
    return DropPart(hash, SentFile{file.sent_as, file.file.size, file.sent_id});
  });
}

absl::Status UploadTable::Drop(std::string_view hash) {
  ASSIGN_OR_RETURN(Statement drop, db_.Prepare("DELETE FROM uploads WHERE hash = ?1"));
  return drop.BindBlob(1, hash).Run();
}

}  // namespace sandkeep
