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

struct RemovalTerms {
  bool recursive = false;  // A folder, even an empty one, goes only then; EISDIR otherwise.
  int max_entries = 0;
  // ESTALE if anything that is met changed since; 0: whatever its age.
  std::int64_t unchanged_since_ns = 0;
  // An earlier call took some of it, and so changed the folders that lead to the rest.
  bool begun = false;
};

Removal RemoveBeneath(int folder, const std::string& path, const RemovalTerms& terms);

}  // namespace sandkeep
