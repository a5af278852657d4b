#include "common/sealed_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "common/status_codes.h"

namespace sandkeep {
namespace {

// Asked for since Linux 6.3; glibc 2.36 doesn't name it.
constexpr unsigned kNoExec = 0x0008U;

int MakeFile() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = ::memfd_create("text", kFlags | kNoExec);
  if (fd >= 0 || errno != EINVAL) return fd;
  return ::memfd_create("text", kFlags);
}

}  // namespace

std::optional<SealedText> SealedText::Create(std::size_t limit, int& error) {
  UniqueFd file(MakeFile());
  if (!file) {
    error = errno;
    return std::nullopt;
  }
  return SealedText(std::move(file), limit);
}

absl::Status SealedText::Append(std::string_view part) {
  if (part.size() > limit_ - written_) {
    return absl::InvalidArgumentError("more of a command than there may be");
  }
  // By offset: the shell shares this description and reads it from its start.
  while (!part.empty()) {
    const ssize_t n = ::pwrite(file_.get(), part.data(), part.size(), static_cast<off_t>(written_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(errno, "pwrite");
    written_ += static_cast<std::size_t>(n);
    part.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status SealedText::Seal() {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(file_.get(), F_ADD_SEALS, kSeals) != 0) return ErrnoStatus(errno, "F_ADD_SEALS");
  return absl::OkStatus();
}

}  // namespace sandkeep
