#include "gateway/downloads/archive_writer.h"

#include "common/utf8.h"
#include "gateway/downloads/tar_writer.h"
#include "gateway/downloads/zip_writer.h"

namespace sandkeep {

std::unique_ptr<ArchiveWriter> MakeArchiveWriter(mcp::ArchiveFormat format) {
  if (format == mcp::ArchiveFormat::kTar) return std::make_unique<TarWriter>();
  return std::make_unique<ZipWriter>();
}

std::string ArchiveName(std::string_view path) {
  std::string name = ToValidUtf8(path);
  for (char& c : name) {
    // Folders elsewhere, and drives.
    if (c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  }
  return name;
}

}  // namespace sandkeep
