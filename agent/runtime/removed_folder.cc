#include "agent/runtime/removed_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

// The engine's names begin with a letter or a digit.
constexpr std::string_view kFolder = "/.sandkeep-removed";
// No volume's name has a dot.
constexpr std::string_view kGivenUp = ".gone";
constexpr mode_t kMode = 0700;

std::string PathOf(const std::string& volumes, const EngineName& volume) {
  return StrCat(volumes, "/", volume.text());
}

std::string AsidePath(const std::string& volumes, const EngineName& volume) {
  return StrCat(RemovedFolder(volumes), "/", volume.text());
}

absl::Status Sync(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return ErrnoStatus(errno, folder);
  return absl::OkStatus();
}

// False: there is nothing of this name.
absl::StatusOr<bool> Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  return ErrnoStatus(errno, from);
}

}  // namespace

std::string RemovedFolder(const std::string& volumes) { return StrCat(volumes, kFolder); }

absl::Status GiveFolderUp(const std::string& volumes, const std::string& folder) {
  const std::string removed = RemovedFolder(volumes);
  if (::mkdir(removed.c_str(), kMode) != 0 && errno != EEXIST) return ErrnoStatus(errno, removed);
  const std::string name = std::filesystem::path(folder).filename().string();
  return Rename(folder, StrCat(removed, "/", name, kGivenUp)).status();
}

absl::StatusOr<bool> SetVolumeAside(const std::string& volumes, const EngineName& volume) {
  const std::string folder = RemovedFolder(volumes);
  if (::mkdir(folder.c_str(), kMode) != 0 && errno != EEXIST) {
    if (errno == ENOENT) return false;  // The engine has made no volume yet.
    return ErrnoStatus(errno, folder);
  }
  ASSIGN_OR_RETURN(const bool moved, Rename(PathOf(volumes, volume), AsidePath(volumes, volume)));
  if (!moved) return false;
  RETURN_IF_ERROR(Sync(folder));
  RETURN_IF_ERROR(Sync(volumes));
  return true;
}

absl::Status PutVolumeBack(const std::string& volumes, const EngineName& volume) {
  return Rename(AsidePath(volumes, volume), PathOf(volumes, volume)).status();
}

absl::Status GiveVolumeUp(const std::string& volumes, const EngineName& volume) {
  const std::string aside = AsidePath(volumes, volume);
  return Rename(aside, StrCat(aside, kGivenUp)).status();
}

RemovedVolumes ListRemoved(const std::string& volumes) {
  RemovedVolumes removed;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(RemovedFolder(volumes), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    absl::StatusOr<EngineName> volume = EngineName::Parse(name);
    if (volume.ok()) {
      removed.aside.push_back(*std::move(volume));
    } else if (name.size() > kGivenUp.size() && name.ends_with(kGivenUp)) {
      removed.given_up.push_back(entry->path().string());
    }
  }
  return removed;
}

}  // namespace sandkeep
