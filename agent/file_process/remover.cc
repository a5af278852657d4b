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
  Remover(int folder, const RemovalTerms& terms)
      : folder_(folder), terms_(terms), left_(terms.max_entries) {}

  Removal RemoveTree(const std::string& name) {
    removal_.error = Enter(folder_, name);
    while (removal_.error == 0 && !levels_.empty() && !removal_.more) removal_.error = Step();
    return removal_;
  }

  Removal RemoveOne(const std::string& name, const struct stat& info) {
    removal_.error = IsTooNew(info) ? ESTALE : Unlink(folder_, name, 0);
    return removal_;
  }

 private:
  int Enter(int above, const std::string& name) {
    if (levels_.size() >= kMaxFolderDepth) return EMLINK;
    Located located = OpenBeneathAs(above, name, kFolder, 0);
    // A file by now, or a link.
    if (located.error == ENOTDIR || located.error == ELOOP) {
      return terms_.unchanged_since_ns != 0 ? ESTALE : Unlink(above, name, 0);
    }
    if (located.error != 0) return located.error == ENOENT ? 0 : located.error;
    // Those that lead to where an earlier call stopped were changed by it.
    const bool ours = terms_.begun && removal_.removed == 0;
    if (!ours && IsTooNew(located.info)) return ESTALE;
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
    if (S_ISDIR(info.st_mode)) return Enter(level.fd(), name);
    return IsTooNew(info) ? ESTALE : Unlink(level.fd(), name, 0);
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

  // By the time of change, which nobody can set.
  bool IsTooNew(const struct stat& info) const {
    constexpr std::int64_t kSecond = 1'000'000'000;
    if (terms_.unchanged_since_ns == 0) return false;
    const std::int64_t second = terms_.unchanged_since_ns / kSecond;
    if (info.st_ctim.tv_sec != second) return info.st_ctim.tv_sec > second;
    return info.st_ctim.tv_nsec > terms_.unchanged_since_ns % kSecond;
  }

  const int folder_;
  const RemovalTerms terms_;
  int left_;
  Removal removal_;
  std::vector<Level> levels_;
};

}  // namespace

Removal RemoveBeneath(int folder, const std::string& path, const RemovalTerms& terms) {
  const Place place = PlaceBeneath(folder, path, false);
  if (place.error != 0) return {.error = place.error};
  struct stat info{};
  if (::fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return {.error = errno};
  }
  Remover remover(place.folder.get(), terms);
  if (!S_ISDIR(info.st_mode)) return remover.RemoveOne(place.name, info);
  if (!terms.recursive) return {.error = EISDIR};
  return remover.RemoveTree(place.name);
}

}  // namespace sandkeep
