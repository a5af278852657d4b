// A file that is being written beside its target: whoever looks there sees the old one, or none,
// until Commit, and then the whole new one. Only sandkeep-files uses this. One thread.
//
// Its folder is held by descriptor and its name is one component, so nothing that the sandbox does
// to the path meanwhile leads elsewhere. A part keeps a name of its own beside the target,
// `.sandkeep-<hex>.part`, so that it outlives us; any other goes with its descriptors. Whoever owns
// the sandbox can do to a part what it likes: it is its own disk and its own file.
//
// Errors are errno values, as those of beneath.h.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/unique_fd.h"

namespace sandkeep {

// What must be true of the target when the file takes its place.
struct CommitTerms {
  bool must_be_new = false;
  std::optional<struct stat> expected;  // Device, inode, size and ctime count.
  std::int64_t size = -1;               // Of the file itself; -1: any.
};

class NewFile {
 public:
  struct Made;
  // `part`: its hexadecimal name, or empty.
  static Made Make(int volume, const std::string& path, bool make_parents, const std::string& part);

  // 0, and `info` is the file's as it stands at the target now; else all is as it was.
  int Commit(const CommitTerms& terms, struct stat& info);
  // Without a name it goes; a part stays.
  void LetGo();

  // To read, so that it can be flushed.
  const UniqueFd& folder() const { return folder_; }
  const UniqueFd& file() const { return file_; }

 private:
  int Open();
  int LookAtTarget(std::optional<struct stat>& target) const;
  int Take(const std::optional<struct stat>& target, bool must_be_new);
  int GiveName(const std::string& name) const;
  int RenameOver(const std::string& from, unsigned flags) const;

  UniqueFd folder_;
  UniqueFd file_;
  std::string name_;
  std::string part_name_;  // Empty: it has none.
  bool lasting_ = false;   // It is a part that somebody asked for.
};

struct NewFile::Made {
  int error = 0;
  NewFile file;
  std::int64_t received = 0;
  std::optional<struct stat> target;
};

}  // namespace sandkeep
