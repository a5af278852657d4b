// Walks a tree beneath a folder and adds up what is in it, in as many turns as its owner gives it.
// Only sandkeep-files uses this. One thread.
//
// However deep or wide the tree is, a walk holds few descriptors and a few bytes a level. It goes
// down as beneath.h does, follows no symlink, enters no other mount, and comes back up only to the
// folder that it came from. What it couldn't look at is counted: who must be sure then isn't.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct statx;

namespace sandkeep {

struct Measures {
  std::int64_t bytes = 0;   // Of a file with several names each counts its share.
  std::int64_t inodes = 0;  // Names.
  // Nanoseconds. The newest change of anything; a time of writing that was set to the future
  // counts as the change that set it.
  std::int64_t newest_ns = 0;
  std::int64_t unread = 0;
  bool other_mount = false;
};

class Measurement {
 public:
  // A file of any kind, or a folder with all in it; `path` empty: the folder itself. 0, or errno.
  int Begin(int folder, const std::string& path);
  // Goes on until then. True: it is at its end.
  bool GoOn(std::chrono::steady_clock::time_point until);
  const Measures& measures() const { return measures_; }

 private:
  struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  using Folder = std::unique_ptr<DIR, CloseFolder>;
  struct Level {
    Folder entries;  // None: closed for now.
    dev_t device = 0;
    ino_t inode = 0;
    long position = 0;  // Where a closed one goes on.
  };

  int Visit(int above, const char* name);
  void Count(const struct statx& info);
  void CountNewest(int folder);
  void Enter(int above, const std::string& name);
  void CloseOutermost();
  void Step();
  void Leave();
  bool Reopen(Level& level, int below);

  Measures measures_;
  std::int64_t began_ns_ = 0;
  std::vector<Level> levels_;
  std::size_t closed_ = 0;  // Of levels_, the outermost so many.
};

}  // namespace sandkeep
