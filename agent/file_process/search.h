// Files of a volume by a pattern: a walk over its folders, one question to the file process each.
// Bounded in all it looks at and keeps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/file_process/file_process.h"
#include "agent/file_process/glob.h"

namespace sandkeep {

struct FileQuery {
  RelPath path;  // The folder.
  Glob pattern;
  std::size_t limit = 0;
  bool newest_first = false;  // By the last change of the content; else by name.
  std::string after;          // By name: only those behind it.
};

struct FileListing {
  std::vector<FileEntry> files;
  bool truncated = false;  // There is more than this.
};

// `files` outlives the call. Folders that can't be read, or go meanwhile, are passed over, but not
// the one that was named. What has too long a path to be asked for is left out: `truncated`.
Async<FileListing> SearchFiles(FileProcess& files, EngineName volume, FileQuery query);

}  // namespace sandkeep
