// Uploads in the database: who may put what where, and what has arrived. The token that opens one
// is nowhere: only its SHA-256.
//
// Calls block on the disk: never on an I/O thread. Belongs to one thread at a time, as its database
// does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/sqlite.h"
#include "gateway/mcp/upload_desk.h"

namespace sandkeep {

struct UploadRow {
  std::string hash;  // Of the token.
  mcp::UploadRequest request;
  absl::Time expires;
  bool done = false;
  std::vector<mcp::ArrivedFile> files;
  std::vector<mcp::ArrivedFile> parts;  // That began; `size` is the whole's.
};

class UploadTable {
 public:
  explicit UploadTable(Database db) : db_(std::move(db)) {}

  // Those of an earlier run.
  absl::StatusOr<std::vector<UploadRow>> Load();
  absl::Status Add(const UploadRow& row);
  absl::Status Extend(std::string_view hash, absl::Time expires);
  absl::Status End(std::string_view hash);
  absl::Status AddPart(std::string_view hash, const mcp::ArrivedFile& part);
  absl::Status DropPart(std::string_view hash, std::string_view path);
  // In the part's place.
  absl::Status AddFile(std::string_view hash, std::string_view part, const mcp::ArrivedFile& file);
  // With all that it has.
  absl::Status Drop(std::string_view hash);

 private:
  Database db_;
};

}  // namespace sandkeep
