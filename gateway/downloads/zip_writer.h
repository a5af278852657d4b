// A zip archive made while it is sent: nothing of it is known before but names, and nothing is kept
// but its directory. Deflated, since readers that can't seek need to see where a file ends; sizes
// and checksums follow each file.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/downloads/archive_writer.h"

namespace sandkeep {

class ZipWriter : public ArchiveWriter {
 public:
  ZipWriter();

  void BeginFile(const ArchiveEntry& entry, std::string* out) override;
  void Add(std::string_view data, std::string* out) override;
  void EndFile(std::string* out) override;
  void AddFolder(const ArchiveEntry& entry, std::string* out) override;
  // The archive's directory.
  void Finish(std::string* out) override;

 private:
  struct Entry {
    std::string name;
    std::uint16_t method = 0;
    std::uint32_t dos_time = 0;
    std::uint32_t mode = 0;
    std::uint32_t crc = 0;
    std::int64_t size = 0;
    std::int64_t packed = 0;
    std::int64_t offset = 0;
    bool large = false;  // Its sizes have eight bytes.
  };
  struct EndDeflate {
    void operator()(z_stream* stream) const;
  };

  void Begin(Entry entry, std::string* out);
  void Deflate(std::string_view data, int flush, std::string* out);
  void AppendDirectory(const Entry& entry, std::string* out) const;

  std::unique_ptr<z_stream, EndDeflate> stream_;
  std::vector<Entry> entries_;
  std::int64_t sent_ = 0;
};

}  // namespace sandkeep
