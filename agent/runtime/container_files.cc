#include "agent/runtime/container_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "agent/runtime/seccomp_profile.h"
#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kNames[] = {"hosts", "hostname", "resolv.conf", "containerenv", "pid"};

// The container's root, a stranger here, must reach the files to mount them, and see no more.
constexpr mode_t kFolderMode = 0711;
constexpr mode_t kFileMode = 0444;

// Where the two helpers answer for the host's resolver.
std::string_view Resolver(NetworkHelper network) {
  switch (network) {
    case NetworkHelper::kPasta:
      return "nameserver 169.254.1.1\n";
    case NetworkHelper::kSlirp4netns:
      return "nameserver 10.0.2.3\n";
    case NetworkHelper::kNone:
      break;
  }
  return "# This sandbox has no network.\n";
}

absl::Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  // Whatever the umask.
  if (::chmod(path.c_str(), kFolderMode) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

std::string ParentFolder(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

absl::Status WriteUnlessSame(const std::string& path, std::string_view text) {
  const auto present = ReadSmallFile(path, 64_KiB);
  // A running container has the file mounted: replacing it would leave that one with the old.
  if (present.ok() && *present == text) return absl::OkStatus();
  // Written anew at the next start, should a power cut take it.
  return ReplaceFile(path, text, kFileMode, Durability::kVolatile);
}

}  // namespace

std::string ContainerFolder(const PodmanOptions& options, const EngineName& container) {
  return StrCat(options.state_dir, "/sandboxes/", container.text());
}

absl::Status WriteContainerFiles(const std::string& folder, const std::string& hostname,
                                 NetworkHelper network) {
  RETURN_IF_ERROR(MakeFolder(ParentFolder(folder)));
  RETURN_IF_ERROR(MakeFolder(folder));
  const std::string hosts =
      StrCat("127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 ", hostname, "\n");
  RETURN_IF_ERROR(WriteUnlessSame(StrCat(folder, "/hosts"), hosts));
  RETURN_IF_ERROR(WriteUnlessSame(StrCat(folder, "/hostname"), StrCat(hostname, "\n")));
  RETURN_IF_ERROR(WriteUnlessSame(StrCat(folder, "/resolv.conf"), Resolver(network)));
  return WriteUnlessSame(StrCat(folder, "/containerenv"), "engine=\"podman\"\n");
}

std::string SeccompPath(const PodmanOptions& options) {
  return StrCat(options.state_dir, "/seccomp.json");
}

absl::Status WriteSeccompProfile(const PodmanOptions& options) {
  return WriteUnlessSame(SeccompPath(options), SeccompProfile());
}

absl::Status RemoveContainerFiles(const std::string& folder) {
  for (const std::string_view name : kNames) ::unlink(StrCat(folder, "/", name).c_str());
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, folder);
  return absl::OkStatus();
}

absl::StatusOr<pid_t> ReadPidFile(const std::string& folder) {
  ASSIGN_OR_RETURN(std::string text, ReadSmallFile(StrCat(folder, "/pid"), 64));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  pid_t pid = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, pid);
  if (error != std::errc() || at != end || pid <= 1) {
    return absl::DataLossError("the engine wrote no pid");
  }
  return pid;
}

}  // namespace sandkeep
