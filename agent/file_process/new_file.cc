#include "agent/file_process/new_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "agent/file_process/beneath.h"
#include "common/part_name.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// What a program without wishes of its own makes.
constexpr mode_t kNewFileMode = 0644;
// Nobody else's until it is whole.
constexpr mode_t kPartMode = 0600;
constexpr mode_t kPermissions = 0777;
// Between looking at the target and taking its place somebody may put another there.
constexpr int kTries = 3;
constexpr std::size_t kRandomNameBytes = 16;

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

std::string RandomHex() {
  std::string bytes(kRandomNameBytes, '\0');
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  return absl::BytesToHexString(bytes);
}

}  // namespace

NewFile::Made NewFile::Make(int volume, const std::string& path, bool make_parents,
                            const std::string& part) {
  Made made;
  Place place = PlaceBeneath(volume, path, make_parents);
  made.error = place.error;
  if (made.error != 0) return made;
  NewFile& file = made.file;
  file.folder_ = std::move(place.folder);
  file.name_ = std::move(place.name);
  file.lasting_ = !part.empty();
  if (file.lasting_) file.part_name_ = PartName(part);
  made.error = file.LookAtTarget(made.target);
  if (made.error == 0) made.error = file.Open();
  if (made.error != 0) return made;
  struct stat info{};
  if (::fstat(file.file_.get(), &info) != 0) made.error = errno;
  made.received = info.st_size;
  return made;
}

int NewFile::Open() {
  if (part_name_.empty()) {
    constexpr int kFlags = O_TMPFILE | O_WRONLY;
    Located nameless = OpenBeneathAs(folder_.get(), ".", kFlags, kPartMode);
    if (nameless.error == 0) file_ = std::move(nameless.fd);
    // Not every file system has nameless files.
    if (nameless.error != EOPNOTSUPP && nameless.error != EISDIR) return nameless.error;
    part_name_ = PartName(RandomHex());
  }
  constexpr int kFlags = O_CREAT | O_WRONLY | O_NONBLOCK | O_NOCTTY;
  Located named = OpenBeneathAs(folder_.get(), part_name_, kFlags, kPartMode);
  if (named.error == ENXIO) return EMEDIUMTYPE;  // A FIFO.
  if (named.error != 0) return named.error;
  if (!S_ISREG(named.info.st_mode)) return EMEDIUMTYPE;
  file_ = std::move(named.fd);
  return 0;
}

int NewFile::LookAtTarget(std::optional<struct stat>& target) const {
  struct stat info{};
  target.reset();
  if (::fstatat(folder_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? 0 : errno;
  }
  if (S_ISLNK(info.st_mode)) return ELOOP;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (!S_ISREG(info.st_mode)) return EMEDIUMTYPE;
  target = info;
  return 0;
}

int NewFile::Commit(const CommitTerms& terms, struct stat& info) {
  if (::fstat(file_.get(), &info) != 0) return errno;
  if (terms.size >= 0 && info.st_size != terms.size) return ESTALE;
  int error = EEXIST;
  for (int tries = 0; tries < kTries && error == EEXIST; ++tries) {
    std::optional<struct stat> target;
    error = LookAtTarget(target);
    if (error != 0) return error;
    if (terms.must_be_new && target.has_value()) return EEXIST;
    if (terms.expected.has_value() && !(target && SameFile(*target, *terms.expected))) {
      return ESTALE;
    }
    error = Take(target, terms.must_be_new);
    if (terms.must_be_new) break;
  }
  if (error == 0 && ::fstat(file_.get(), &info) != 0) error = errno;
  return error;
}

// EEXIST: there is something where nothing was.
int NewFile::Take(const std::optional<struct stat>& target, bool must_be_new) {
  // It stays whose it was, and runnable if it was; set-user-id bits don't outlive their content.
  const mode_t mode = target.has_value() ? target->st_mode & kPermissions : kNewFileMode;
  if (target.has_value() && (target->st_uid != 0 || target->st_gid != 0)) {
    // An owner who is nobody in here can't be given it back.
    (void)!::fchown(file_.get(), target->st_uid, target->st_gid);
  }
  if (::fchmod(file_.get(), mode) != 0) return errno;
  const bool replace = target.has_value() && !must_be_new;
  if (!part_name_.empty()) return RenameOver(part_name_, replace ? 0 : RENAME_NOREPLACE);
  if (!replace) return GiveName(name_);
  const std::string name = PartName(RandomHex());
  if (const int error = GiveName(name); error != 0) return error;
  const int error = RenameOver(name, 0);
  if (error != 0) ::unlinkat(folder_.get(), name.c_str(), 0);
  return error;
}

// The nameless file has no path but this one.
int NewFile::GiveName(const std::string& name) const {
  const std::string self = StrCat("/proc/self/fd/", file_.get());
  return ::linkat(AT_FDCWD, self.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0
             ? 0
             : errno;
}

// The C library makes another call of it when there are no flags, which the filter doesn't let
// pass.
int NewFile::RenameOver(const std::string& from, unsigned flags) const {
  const long renamed =
      ::syscall(SYS_renameat2, folder_.get(), from.c_str(), folder_.get(), name_.c_str(), flags);
  return renamed == 0 ? 0 : errno;
}

void NewFile::LetGo() {
  if (!lasting_ && !part_name_.empty()) ::unlinkat(folder_.get(), part_name_.c_str(), 0);
}

}  // namespace sandkeep
