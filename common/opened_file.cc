#include "common/opened_file.h"

#include <fcntl.h>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "common/digest.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kEtagBytes = 16;

}  // namespace

bool IsOpenedAs(const UniqueFd& fd, int access, mode_t kind) {
  struct stat info{};
  const int flags = fd ? ::fcntl(fd.get(), F_GETFL) : -1;
  return flags >= 0 && (flags & (O_ACCMODE | O_PATH)) == access && ::fstat(fd.get(), &info) == 0 &&
         (info.st_mode & S_IFMT) == kind;
}

std::string FileEtag(std::uint64_t device, std::uint64_t inode, std::int64_t size,
                     std::int64_t changed_ns) {
  const std::string facts = StrCat(device, ":", inode, ":", size, ":", changed_ns);
  return absl::WebSafeBase64Escape(Sha256(facts).substr(0, kEtagBytes));
}

std::string FileEtag(const struct stat& info) {
  return FileEtag(info.st_dev, info.st_ino, info.st_size,
                  absl::ToUnixNanos(absl::TimeFromTimespec(info.st_ctim)));
}

}  // namespace sandkeep
