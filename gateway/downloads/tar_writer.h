// A tar archive made while it is sent, of the kind that POSIX calls pax: a name of any length and
// script, and a file of any size, stand in a header of their own before the entry's. Not packed:
// what is sent is known to the byte. Owners are left out; whoever unpacks it owns what comes out.
#pragma once

#include "gateway/downloads/archive_writer.h"

namespace sandkeep {

class TarWriter : public ArchiveWriter {
 public:
  void BeginFile(const ArchiveEntry& entry, std::string* out) override;
  void Add(std::string_view data, std::string* out) override;
  void EndFile(std::string* out) override;
  void AddFolder(const ArchiveEntry& entry, std::string* out) override;
  void Finish(std::string* out) override;

 private:
  std::int64_t added_ = 0;  // Of the file at hand.
};

}  // namespace sandkeep
