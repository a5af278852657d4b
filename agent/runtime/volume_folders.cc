#include "agent/runtime/volume_folders.h"

#include <fcntl.h>

#include <cerrno>

#include "agent/runtime/small_file.h"
#include "agent/runtime/warm_binding.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr mode_t kBindingMode = 0600;

std::string BindingPath(const std::string& volumes, const EngineName& volume) {
  return StrCat(volumes, "/", volume.text(), "/sandkeep-binding");
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

}  // namespace sandkeep
