#include "agent/file_process/remover.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "agent/file_process/beneath.h"
#include "common/limits.h"

namespace sandkeep {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NONBLOCK;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// A folder that is being emptied.
struct Level {
  std::unique_ptr<DIR, CloseFolder> entries;
  std::string name;  // In the folder above.

  int fd() const { return ::dirfd(entries.get()); }
};

class Remover {
 public:
  Remover(int folder, int max_entries) : folder_(folder), left_(max_entries) {}

  Removal RemoveTree(const std::string& name) {
    removal_.error = Enter(folder_, name);
    while (removal_.error == 0 && !levels_.empty() && !removal_.more) removal_.error = Step();
    return removal_;
  }

  Removal RemoveOne(const std::string& name, int flags) {
    removal_.error = Unlink(folder_, name, flags);
    return removal_;
  }

 private:
  int Enter(int above, const std::string& name) {
    if (levels_.size() >= kMaxFolderDepth) return EMLINK;
    Located located = OpenBeneathAs(above, name, kFolder, 0);
    // A file by now, or a link.
    if (located.error == ENOTDIR || located.error == ELOOP) return Unlink(above, name, 0);
    if (located.error != 0) return located.error == ENOENT ? 0 : located.error;
    std::unique_ptr<DIR, CloseFolder> entries(::fdopendir(located.fd.get()));
    if (entries == nullptr) return errno;
    (void)located.fd.Release();
    levels_.push_back({std::move(entries), name});
    return 0;
  }

  // One entry of the innermost folder, or that folder itself once it is empty.
  int Step() {
    const Level& level = levels_.back();
    errno = 0;
    const dirent* entry = ::readdir(level.entries.get());
    if (entry == nullptr) return errno != 0 ? errno : Leave();
    const std::string name = entry->d_name;
    if (name == "." || name == "..") return 0;
    struct stat info{};
    if (::fstatat(level.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? 0 : errno;
    }
    return S_ISDIR(info.st_mode) ? Enter(level.fd(), name) : Unlink(level.fd(), name, 0);
  }

  int Leave() {
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    const int above = levels_.empty() ? folder_ : levels_.back().fd();
    return Unlink(above, level.name, AT_REMOVEDIR);
  }

  int Unlink(int above, const std::string& name, int flags) {
    if (left_ == 0) {
      removal_.more = true;
      return 0;
    }
    if (::unlinkat(above, name.c_str(), flags) != 0) return errno == ENOENT ? 0 : errno;
    --left_;
    ++removal_.removed;
    return 0;
  }

  const int folder_;
  int left_;
  Removal removal_;
  std::vector<Level> levels_;
};

}  // namespace

Removal RemoveBeneath(int folder, const std::string& path, bool recursive, int max_entries) {
  const Place place = PlaceBeneath(folder, path, false);
  if (place.error != 0) return {.error = place.error};
  struct stat info{};
  if (::fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return {.error = errno};
  }
  Remover remover(place.folder.get(), max_entries);
  if (!S_ISDIR(info.st_mode)) return remover.RemoveOne(place.name, 0);
  if (!recursive) return {.error = EISDIR};
  return remover.RemoveTree(place.name);
}

}  // namespace sandkeep
