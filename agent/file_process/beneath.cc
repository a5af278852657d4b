#include "agent/file_process/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "common/limits.h"

namespace sandkeep {
namespace {

// The kernel gives EAGAIN when something was renamed during the walk; a file swapped between two
// opens is the same to us.
constexpr int kTries = 3;

constexpr std::uint64_t kBeneath =
    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;

Located Open(int folder, const std::string& path, int flags, mode_t mode = 0,
             std::uint64_t resolve = kBeneath) {
  Located located;
  if (path.size() > kMaxPathBytes) return {.error = ENAMETOOLONG, .fd = {}};
  if (path.find('\0') != std::string::npos) return {.error = EINVAL, .fd = {}};
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = resolve;
  const char* name = path.empty() ? "." : path.c_str();
  for (int tries = 0; tries < kTries; ++tries) {
    located.fd.Reset(static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how)));
    located.error = located.fd ? 0 : errno;
    if (located.error != EAGAIN && located.error != EINTR) break;
  }
  if (located.error == 0 && ::fstat(located.fd.get(), &located.info) != 0) located.error = errno;
  return located;
}

Located OpenToRead(int folder, const std::string& path) {
  // O_NONBLOCK and O_NOCTTY: should it have become a FIFO or a terminal meanwhile.
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  Located located = Open(folder, path, kFlags | O_NOATIME);
  // The kernel grants O_NOATIME to the file's owner only.
  if (located.error == EPERM) located = Open(folder, path, kFlags);
  return located;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
         (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT);
}

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
// Of the folders that are made on the way.
constexpr mode_t kFolderMode = 0755;

// One component below `folder`, made if it isn't there.
Located OpenOrMakeFolder(int folder, const std::string& name) {
  Located located = Open(folder, name, kFolder);
  if (located.error != ENOENT) return located;
  if (::mkdirat(folder, name.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return {.error = errno, .fd = {}};
  }
  return Open(folder, name, kFolder);
}

Located MakeFolders(int folder, const std::string& path) {
  Located at = Open(folder, "", kFolder);
  for (std::size_t begin = 0; at.error == 0 && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    at = OpenOrMakeFolder(at.fd.get(), path.substr(begin, end - begin));
    begin = end + 1;
  }
  return at;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

Located LocateBeneath(int folder, const std::string& path) {
  Located located = Open(folder, path, O_PATH);
  if (located.error != 0) return located;
  if (S_ISLNK(located.info.st_mode)) {
    located.error = ELOOP;
  } else if (!S_ISREG(located.info.st_mode) && !S_ISDIR(located.info.st_mode)) {
    located.error = EMEDIUMTYPE;
  }
  return located;
}

Located OpenBeneathAs(int folder, const std::string& path, int flags, unsigned mode) {
  return Open(folder, path, flags, mode);
}

Located OpenAbove(int folder) {
  constexpr std::uint64_t kOneStepUp = kBeneath & ~std::uint64_t{RESOLVE_BENEATH};
  return Open(folder, "..", kFolder, 0, kOneStepUp);
}

Place PlaceBeneath(int folder, const std::string& path, bool make_parents) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  Place place;
  place.name = path.substr(slash + 1);
  if (path.size() > kMaxPathBytes || place.name.size() > kMaxNameBytes) {
    place.error = ENAMETOOLONG;
  } else if (path.find('\0') != std::string::npos) {
    place.error = EINVAL;
  } else if (place.name.empty() || place.name == "." || place.name == "..") {
    place.error = EISDIR;
  }
  if (place.error != 0) return place;
  Located located = Open(folder, parent, kFolder);
  if (located.error == ENOENT && make_parents) located = MakeFolders(folder, parent);
  // Of a link in a folder's place the kernel says the same as of a file.
  if (located.error == ENOTDIR && LocateBeneath(folder, parent).error == ELOOP) {
    located.error = ELOOP;
  }
  place.error = located.error;
  place.folder = std::move(located.fd);
  return place;
}

Located OpenBeneath(int folder, const std::string& path) {
  for (int tries = 0; tries < kTries; ++tries) {
    Located seen = LocateBeneath(folder, path);
    if (seen.error == 0 && S_ISDIR(seen.info.st_mode)) seen.error = EISDIR;
    if (seen.error != 0) return seen;
    Located opened = OpenToRead(folder, path);
    // Of another name's file by now, or none: look again, and report what is there then.
    if (opened.error == 0 && SameFile(seen.info, opened.info)) return opened;
    if (opened.error == EMFILE || opened.error == ENFILE || opened.error == ENOMEM) return opened;
    if (opened.error == EACCES || opened.error == EPERM) return opened;
  }
  return {.error = ESTALE, .fd = {}};
}

int ListBeneath(int folder, const std::string& path, int limit,
                const std::function<void(const std::string& name, const struct stat&)>& visit,
                bool& truncated) {
  Located located = Open(folder, path, kFolder);
  if (located.error != 0) return located.error;
  const std::unique_ptr<DIR, CloseFolder> entries(::fdopendir(located.fd.get()));
  if (entries == nullptr) return errno;
  const int fd = located.fd.Release();
  truncated = false;
  for (int count = 0;;) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return 0;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (count == limit) {
      truncated = true;
      return 0;
    }
    struct stat info{};
    // Gone since: nothing to show.
    if (::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    visit(name, info);
    ++count;
  }
}

}  // namespace sandkeep
