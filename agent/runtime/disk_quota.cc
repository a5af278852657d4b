#include "agent/runtime/disk_quota.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "agent/runtime/project.h"
#include "agent/runtime/removed_folder.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

constexpr mode_t kMode = 0700;
// The first one is for trying.
constexpr std::uint32_t kTrial = kFirstProject;

bool IsOurs(std::uint32_t project) {
  return project > kTrial && project < kFirstProject + kProjects;
}

std::string VolumePath(const std::string& volumes, const EngineName& volume) {
  return StrCat(volumes, "/", volume.text());
}

// Whatever the umask; fine if it is there.
absl::Status MakeFolder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    return ::chmod(path.c_str(), mode) == 0 ? absl::OkStatus() : ErrnoStatus(errno, path);
  }
  return errno == EEXIST ? absl::OkStatus() : ErrnoStatus(errno, path);
}

absl::Status NotInForce() {
  return absl::FailedPreconditionError(
      "no limits are in force: give the file system of the engine's storage project quotas, then "
      "restart sandkeep-quota.service");
}

// In a folder that is of a project, what may be written to it.
absl::Status CheckLimit(const std::string& folder, const std::string& above, std::int64_t bytes) {
  ASSIGN_OR_RETURN(const std::int64_t own, RoomOf(folder));
  ASSIGN_OR_RETURN(const std::int64_t whole, RoomOf(above));
  // One that is smaller than the limit says nothing.
  return own <= bytes && own < whole ? absl::OkStatus() : NotInForce();
}

// Whoever gives projects away among these volumes, in any agent, has it.
absl::StatusOr<UniqueFd> Lock(const std::string& volumes) {
  UniqueFd folder(::open(volumes.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return ErrnoStatus(errno, volumes);
  while (::flock(folder.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, volumes);
  }
  return folder;
}

// Whoever isn't asked may have any: then nobody gets one.
absl::Status AddProjects(const std::string& folder, std::set<std::uint32_t>& used) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (!entry->is_directory(gone)) continue;
    const auto project = ProjectOf(entry->path().string());
    if (absl::IsNotFound(project.status())) continue;  // Removed meanwhile.
    RETURN_IF_ERROR(project.status());
    used.insert(*project);
  }
  const bool none = error == std::errc::no_such_file_or_directory;
  return error && !none ? ErrnoStatus(error.value(), folder) : absl::OkStatus();
}

absl::StatusOr<std::uint32_t> FreeProject(const std::string& volumes) {
  std::set<std::uint32_t> used;
  RETURN_IF_ERROR(AddProjects(volumes, used));
  RETURN_IF_ERROR(AddProjects(RemovedFolder(volumes), used));
  for (std::uint32_t project = kTrial + 1; IsOurs(project); ++project) {
    if (!used.contains(project)) return project;
  }
  return absl::ResourceExhaustedError("every project has its sandbox");
}

}  // namespace

absl::Status CheckQuota(const std::string& volumes, std::int64_t bytes) {
  const std::string trial = StrCat(volumes, "/.sandkeep-quota");
  ASSIGN_OR_RETURN(const UniqueFd lock, Lock(volumes));
  RETURN_IF_ERROR(MakeFolder(trial, kMode));
  absl::Status checked = SetProject(trial, kTrial);
  if (checked.ok()) checked = CheckLimit(trial, volumes, bytes);
  ::rmdir(trial.c_str());
  return absl::IsUnimplemented(checked) ? NotInForce() : checked;
}

absl::StatusOr<std::uint32_t> GiveProject(const std::string& volumes, const EngineName& volume) {
  const std::string folder = VolumePath(volumes, volume);
  ASSIGN_OR_RETURN(const UniqueFd lock, Lock(volumes));
  if (::mkdir(folder.c_str(), kMode) != 0) {
    if (errno != EEXIST) return ErrnoStatus(errno, folder);
    const std::uint32_t project = ProjectOfVolume(volumes, volume);
    if (project == 0) return absl::AlreadyExistsError("it was made without a project");
    return project;
  }
  ASSIGN_OR_RETURN(const std::uint32_t project, FreeProject(volumes));
  RETURN_IF_ERROR(SetProject(folder, project));
  return project;
}

absl::Status HoldVolume(const std::string& volumes, const EngineName& volume, std::int64_t bytes) {
  RETURN_IF_ERROR(CheckQuota(volumes, bytes));
  RETURN_IF_ERROR(GiveProject(volumes, volume).status());
  return CheckLimit(VolumePath(volumes, volume), volumes, bytes);
}

void DropVolume(const std::string& volumes, const EngineName& volume) {
  ::rmdir(VolumePath(volumes, volume).c_str());
}

std::uint32_t ProjectOfVolume(const std::string& volumes, const EngineName& volume) {
  const std::uint32_t project = ProjectOf(VolumePath(volumes, volume)).value_or(0);
  return IsOurs(project) ? project : 0;
}

}  // namespace sandkeep
