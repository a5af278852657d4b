#include "agent/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kSecretBytes = 32;

absl::StatusOr<std::string> ReadOwn(const std::string& path, const UniqueFd& file,
                                    std::size_t most) {
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        StrCat(path, " must be a regular file of this user, with mode 0600"));
  }
  std::string content(most, '\0');
  const ssize_t size = ::pread(file.get(), content.data(), content.size(), 0);
  if (size < 0) return ErrnoStatus(errno, path);
  content.resize(static_cast<std::size_t>(size));
  return content;
}

absl::Status SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  const UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir || ::fsync(dir.get()) != 0) return ErrnoStatus(errno, folder);
  return absl::OkStatus();
}

// Under a temporary name first: the real one never shows half a file. The folder's lock keeps other
// agents away, so a temporary file that is there was left by one that died.
absl::Status MakeOnce(const std::string& path, std::string_view fresh) {
  const std::string temporary = StrCat(path, ".new");
  if (::unlink(temporary.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, temporary);
  const UniqueFd file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, temporary);
  const ssize_t written = ::write(file.get(), fresh.data(), fresh.size());
  if (written < 0) return ErrnoStatus(errno, temporary);
  if (static_cast<std::size_t>(written) != fresh.size()) {
    return absl::ResourceExhaustedError(StrCat(temporary, ": the disk is full"));
  }
  if (::fsync(file.get()) != 0) return ErrnoStatus(errno, temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
  return SyncFolderOf(path);
}

bool Exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

absl::Status LostInstance(const std::string& path, std::string_view how) {
  return absl::DataLossError(
      StrCat(path, " is ", how,
             ": put back the 32 digits that this agent's containers and volumes bear as label "
             "sandkeep.instance"));
}

// Where SELinux enforces, only the engine may write there.
bool IsOwnFolder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

// Unset, the engine picks one.
std::string_view NameOfRunRoot(std::string_view run_root) {
  return run_root.empty() ? "the engine's own choice" : run_root;
}

}  // namespace

absl::Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return ErrnoStatus(errno, path);
}

absl::StatusOr<StateDir> StateDir::Open(std::string path) {
  RETURN_IF_ERROR(MakeFolder(path));
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return absl::FailedPreconditionError(
        StrCat(path, " must be a folder of this user that nobody else can write to (STATE_DIR)"));
  }
  const std::string lock_path = StrCat(path, "/lock");
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return ErrnoStatus(errno, lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, lock_path);
    return absl::FailedPreconditionError(
        StrCat("another agent works on ", path, ": stop it, or give this one another STATE_DIR"));
  }
  return StateDir(std::move(path), std::move(lock));
}

absl::StatusOr<std::string> ReadOrMake(const std::string& path, std::string_view fresh,
                                       std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file) return ReadOwn(path, file, most);
  if (errno != ENOENT) return ErrnoStatus(errno, path);
  RETURN_IF_ERROR(MakeOnce(path, fresh));
  return std::string(fresh);
}

absl::StatusOr<InstanceId> StateDir::Instance(Random& random) const {
  const std::string path = StrCat(path_, "/instance");
  // A new one beside old records would take every sandbox for gone and forget it.
  if (!Exists(path) && Exists(StrCat(path_, "/agent.db"))) return LostInstance(path, "missing");
  ASSIGN_OR_RETURN(std::string text,
                   ReadOrMake(path, StrCat(InstanceId::Random(random).hex(), "\n")));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  absl::StatusOr<InstanceId> id = InstanceId::FromHex(text);
  if (id.ok()) return id;
  return LostInstance(path, "damaged");
}

absl::StatusOr<Secret> KeySecret(const std::string& state_dir, Random& random) {
  const std::string path = StrCat(state_dir, "/secret");
  ASSIGN_OR_RETURN(std::string bytes, ReadOrMake(path, random.Bytes(kSecretBytes)));
  if (bytes.size() != kSecretBytes) {
    return absl::DataLossError(StrCat(
        path, " is damaged. If it can't be put back, remove it: sandboxes that exist are kept"));
  }
  return Secret(std::move(bytes));
}

absl::StatusOr<std::int64_t> FirstPrincipalDisk(const std::string& state_dir, std::int64_t free) {
  const std::string path = StrCat(state_dir, "/principal-disk");
  const std::int64_t fresh = std::max(free / 2, kLeastPrincipalDisk);
  ASSIGN_OR_RETURN(const std::string text, ReadOrMake(path, StrCat(fresh, "\n")));
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || bytes <= 0 || std::string_view(end) != "\n") {
    return absl::DataLossError(
        StrCat(path, " is damaged: remove it, or set PRINCIPAL_DISK in the agent's settings"));
  }
  return bytes;
}

absl::Status CheckRunRoot(const std::string& state_dir, const std::string& run_root) {
  if (run_root.size() >= kMaxRunRootBytes) {
    return absl::InvalidArgumentError("XDG_RUNTIME_DIR is too long a path for a socket below it");
  }
  if (!run_root.empty() && !IsOwnFolder(run_root)) {
    return absl::FailedPreconditionError(
        StrCat("the engine's run root ", run_root,
               " can't be used, since it is no folder of this user's: "
               "run `systemctl start sandkeep-host`, which makes /run/sandkeep/engine, or set "
               "XDG_RUNTIME_DIR to one"));
  }
  const std::string path = StrCat(state_dir, "/run-root");
  const absl::StatusOr<std::string> known =
      ReadOrMake(path, StrCat(run_root, "\n"), kMaxRunRootBytes);
  // A full disk: a later start writes it down.
  if (absl::IsResourceExhausted(known.status())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string first, known);
  if (first == StrCat(run_root, "\n")) return absl::OkStatus();
  const std::string_view before = std::string_view(first).substr(0, first.find('\n'));
  return absl::FailedPreconditionError(
      StrCat("the engine's run root has moved from ", NameOfRunRoot(before), " to ",
             NameOfRunRoot(run_root),
             ", where it finds none of the sandboxes that run: set XDG_RUNTIME_DIR back; or, to "
             "move it for good, stop all sandboxes and remove ",
             path));
}

}  // namespace sandkeep
