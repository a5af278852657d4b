// Which file the parts of uploads became: a front end that died between a file's placing and its
// own note of it asks for the part again, and learns that it is done. Remembered are the newest
// kMaxPlacedParts, and none longer than this process lives. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "agent/sandbox/sandbox_manager.h"

namespace sandkeep {

class PlacedParts {
 public:
  // The part at `part` of a volume (`generation`) took its place as `file`.
  void Note(const Generation& generation, const std::string& part, const FileEntry& file);
  // It begins anew.
  void Forget(const Generation& generation, const std::string& part);
  std::optional<FileEntry> Find(const Generation& generation, const std::string& part) const;

 private:
  static std::string KeyOf(const Generation& generation, const std::string& part);

  mutable std::mutex mutex_;
  absl::flat_hash_map<std::string, FileEntry> files_;
  std::deque<std::string> order_;  // The same, the oldest first.
};

}  // namespace sandkeep
