#include "agent/runtime/layer_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "agent/runtime/project.h"
#include "agent/runtime/removed_folder.h"
#include "agent/runtime/volume_folders.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kName = ".sandkeep-";
constexpr mode_t kMode = 0700;

void Drop(const std::string& volumes, const std::string& folder) {
  if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return;
  const absl::Status given_up = GiveFolderUp(volumes, folder);
  if (given_up.ok()) return;
  Log(Severity::kWarning, "layer_folder.left", {{"folder", folder}, {"why", given_up}});
}

// Nobody is at work in it any more.
bool IsOld(const std::string& folder) {
  struct stat info{};
  constexpr std::time_t kLongest = 2 * std::chrono::seconds(kEngineStartDeadline).count();
  return ::stat(folder.c_str(), &info) == 0 && std::time(nullptr) - info.st_mtime > kLongest;
}

}  // namespace

absl::StatusOr<std::string> MakeLayerFolder(const std::string& volumes, const EngineName& container,
                                            std::uint32_t project) {
  DropLayerFolder(volumes, container);
  ASSIGN_OR_RETURN(const std::string layers, LayersFolder(volumes));
  std::string folder = StrCat(layers, "/", kName, container.text());
  if (::mkdir(folder.c_str(), kMode) != 0) return ErrnoStatus(errno, folder);
  RETURN_IF_ERROR(SetProject(folder, project));
  return folder;
}

void DropLayerFolder(const std::string& volumes, const EngineName& container) {
  const auto layers = LayersFolder(volumes);
  if (layers.ok()) Drop(volumes, StrCat(*layers, "/", kName, container.text()));
}

void DropOldLayerFolders(const std::string& volumes) {
  const auto layers = LayersFolder(volumes);
  if (!layers.ok()) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(*layers, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string folder = entry->path().string();
    const bool ours = entry->path().filename().string().starts_with(kName);
    if (ours && IsOld(folder)) Drop(volumes, folder);
  }
}

}  // namespace sandkeep
