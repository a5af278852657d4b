// Opens what lies beneath a folder, and nothing else: no `..` out of it, no symlink anywhere, no
// other mount, no magic link of /proc. The kernel does the walk (openat2), so there is no moment
// between a check and its use. Only sandkeep-files uses this. One thread.
//
// Errors are errno values, as the protocol carries them: ELOOP a symlink in the way, EXDEV leaves
// the folder, EMEDIUMTYPE neither a regular file nor a folder, ESTALE it keeps changing.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "common/unique_fd.h"

namespace sandkeep {

struct Located {
  int error = 0;
  UniqueFd fd;
  struct stat info{};
};

// O_PATH: nothing is opened for real, so a FIFO or a device can't do anything. `path` empty: the
// folder itself.
Located LocateBeneath(int folder, const std::string& path);

// The same, opened with these flags of open(2), whatever it is. For names that are ours.
Located OpenBeneathAs(int folder, const std::string& path, int flags, unsigned mode);

// The folder that one lies in, for who came from there: nothing holds it beneath anything, so the
// caller checks that it is the one that it knows before it reads from it.
Located OpenAbove(int folder);

// Where a path's last component is, or would be.
struct Place {
  int error = 0;
  UniqueFd folder;   // To read.
  std::string name;  // One component.
};
// `make_parents`: folders that are missing are made.
Place PlaceBeneath(int folder, const std::string& path, bool make_parents);

// A regular file, to read. EISDIR: a folder.
Located OpenBeneath(int folder, const std::string& path);

// Calls `visit` for at most `limit` entries, in the folder's own order. `truncated`: there are
// more.
int ListBeneath(int folder, const std::string& path, int limit,
                const std::function<void(const std::string& name, const struct stat&)>& visit,
                bool& truncated);

}  // namespace sandkeep
