// Removes files and folders beneath a folder. Only sandkeep-files uses this. One thread.
//
// Every step is relative to a folder that is held by descriptor and was opened without following
// anything: what a symlink points to is never touched, whatever is swapped meanwhile. Errors are
// errno values, as those of beneath.h; EMLINK: folders nest deeper than kMaxFolderDepth.
#pragma once

#include <cstdint>
#include <string>

namespace sandkeep {

struct Removal {
  int error = 0;
  std::int64_t removed = 0;
  bool more = false;  // `max_entries` are gone, and some are left: ask again.
};

// A folder, even an empty one, goes only if `recursive`; EISDIR otherwise.
Removal RemoveBeneath(int folder, const std::string& path, bool recursive, int max_entries);

}  // namespace sandkeep
