// An archive made while it is sent: each call appends to `out` what is to be sent next. Names are
// made harmless: relative, UTF-8, with nothing that any system would take for a way out. A folder's
// ends with a slash. Plain values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep {

struct ArchiveEntry {
  std::string_view name;
  std::int64_t size = 0;  // Of a file: exactly so much is added.
  std::uint32_t mode = 0;
  absl::Time modified;
};

class ArchiveWriter {
 public:
  virtual ~ArchiveWriter() = default;

  virtual void BeginFile(const ArchiveEntry& entry, std::string* out) = 0;
  virtual void Add(std::string_view data, std::string* out) = 0;
  virtual void EndFile(std::string* out) = 0;
  virtual void AddFolder(const ArchiveEntry& entry, std::string* out) = 0;
  // What ends the archive.
  virtual void Finish(std::string* out) = 0;
};

std::unique_ptr<ArchiveWriter> MakeArchiveWriter(mcp::ArchiveFormat format);

// The name that an entry gets.
std::string ArchiveName(std::string_view path);

}  // namespace sandkeep
