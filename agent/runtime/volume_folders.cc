#include "agent/runtime/volume_folders.h"

#include <fcntl.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cerrno>

#include "agent/runtime/small_file.h"
#include "agent/runtime/warm_binding.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kLayers = "/overlay";

constexpr mode_t kBindingMode = 0600;

std::string BindingPath(const std::string& volumes, const EngineName& volume) {
  return StrCat(volumes, "/", volume.text(), "/sandkeep-binding");
}

bool IsLayerId(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return !text.empty() && text.size() <= kMaxLayerIdBytes &&
         text.find_first_not_of(kHex) == std::string_view::npos;
}

// The id of a container's layer in podman's list; empty: it isn't there.
std::string LayerIn(const std::string& list, std::string_view container) {
  namespace json = boost::json;
  boost::system::error_code error;
  const json::value parsed = json::parse(list, error);
  if (error || !parsed.is_array()) return "";
  for (const json::value& entry : parsed.get_array()) {
    const json::object* const object = entry.if_object();
    const json::value* const names = object != nullptr ? object->if_contains("names") : nullptr;
    const json::value* const layer = object != nullptr ? object->if_contains("layer") : nullptr;
    if (names == nullptr || !names->is_array() || layer == nullptr || !layer->is_string()) continue;
    for (const json::value& name : names->get_array()) {
      if (!name.is_string() || std::string_view(name.get_string()) != container) continue;
      return std::string(layer->get_string());
    }
  }
  return "";
}

// Of the engine's whole storage. NotFound: volumes lie elsewhere than containers.
absl::StatusOr<std::string> StorageFolder(const std::string& volumes) {
  constexpr std::string_view kVolumes = "/volumes";
  const bool usual = volumes.size() > kVolumes.size() &&
                     volumes.substr(volumes.size() - kVolumes.size()) == kVolumes;
  if (!usual) return absl::NotFoundError("volumes lie elsewhere than containers");
  return volumes.substr(0, volumes.size() - kVolumes.size());
}

}  // namespace

absl::StatusOr<std::string> VolumesFolder(std::string_view mountpoint, const EngineName& volume) {
  const std::string tail = StrCat("/", volume.text(), "/_data");
  if (mountpoint.size() <= tail.size() || mountpoint.front() != '/' ||
      mountpoint.substr(mountpoint.size() - tail.size()) != tail) {
    return absl::DataLossError(StrCat("an unknown layout of volumes: ", mountpoint));
  }
  return std::string(mountpoint.substr(0, mountpoint.size() - tail.size()));
}

absl::Status WriteBinding(const std::string& volumes, const EngineName& volume,
                          std::string_view text) {
  if (text.size() > kMaxBindingBytes) return absl::InvalidArgumentError("a binding is too long");
  const std::string path = BindingPath(volumes, volume);
  const auto present = ReadSmallFile(path, kMaxBindingBytes);
  if (present.ok() && *present == text) return absl::OkStatus();
  if (present.ok() && !present->empty() && *present != kWarmBinding) {
    return absl::FailedPreconditionError(StrCat("volume ", volume.text(), " is bound already"));
  }
  return ReplaceFile(path, text, kBindingMode, Durability::kDurable);
}

std::string ReadBinding(const std::string& volumes, const EngineName& volume) {
  return ReadSmallFile(BindingPath(volumes, volume), kMaxBindingBytes).value_or("");
}

absl::StatusOr<UniqueFd> OpenVolumeData(const std::string& volumes, const EngineName& volume) {
  const std::string path = StrCat(volumes, "/", volume.text(), "/_data");
  UniqueFd data(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!data) return ErrnoStatus(errno, StrCat("volume ", volume.text()));
  return data;
}

absl::StatusOr<std::string> LayersFolder(const std::string& volumes) {
  ASSIGN_OR_RETURN(const std::string storage, StorageFolder(volumes));
  return StrCat(storage, kLayers);
}

absl::StatusOr<std::string> ContainerLayerFolder(const std::string& volumes,
                                                 const EngineName& container) {
  ASSIGN_OR_RETURN(const std::string storage, StorageFolder(volumes));
  ASSIGN_OR_RETURN(const std::string list,
                   ReadSmallFile(StrCat(storage, "/overlay-containers/containers.json"),
                                 kMaxContainerListBytes));
  const std::string layer = LayerIn(list, container.text());
  if (!IsLayerId(layer)) return absl::NotFoundError(StrCat("no layer of ", container.text()));
  return StrCat(storage, kLayers, "/", layer);
}

absl::StatusOr<UniqueFd> OpenContainerLayer(const std::string& volumes,
                                            const EngineName& container) {
  ASSIGN_OR_RETURN(const std::string path, ContainerLayerFolder(volumes, container));
  UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return ErrnoStatus(errno, StrCat("the layer of ", container.text()));
  return folder;
}

}  // namespace sandkeep
