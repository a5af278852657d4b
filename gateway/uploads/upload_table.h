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

// A file as its sender names it.
struct SentFile {
  std::string path;  // In the workspace, as asked for.
  std::int64_t size = 0;
  std::string id = {};  // Of the sender's choice, for one file; empty: none.

  friend bool operator==(const SentFile&, const SentFile&) = default;
};

struct UploadedFile {
  mcp::ArrivedFile file;  // What it became.
  std::string sent_as;    // Its path then.
  std::string sent_id;
};

struct UploadRow {
  std::string hash;  // Of the token.
  mcp::UploadRequest request;
  // Of the volume that it is for; empty: the sandbox has none yet.
  std::string generation = {};
  absl::Time opened;
  absl::Time expires;
  bool done = false;
  std::vector<UploadedFile> files;
  std::vector<SentFile> parts;  // That began.
};

class UploadTable {
 public:
  explicit UploadTable(Database db) : db_(std::move(db)) {}

  // Those of an earlier run.
  absl::StatusOr<std::vector<UploadRow>> Load();
  absl::Status Add(const UploadRow& row);
  absl::Status Extend(std::string_view hash, absl::Time expires);
  absl::Status End(std::string_view hash);
  absl::Status Bind(std::string_view hash, std::string_view generation);
  absl::Status AddPart(std::string_view hash, const SentFile& part);
  absl::Status DropPart(std::string_view hash, const SentFile& part);
  // In the part's place.
  absl::Status AddFile(std::string_view hash, const UploadedFile& file);
  // With all that it has.
  absl::Status Drop(std::string_view hash);

 private:
  Database db_;
};

}  // namespace sandkeep
