#include "common/rel_path.h"

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {

absl::StatusOr<RelPath> RelPath::Parse(std::string_view bytes) {
  // PATH_MAX counts the NUL behind it.
  if (bytes.size() >= kMaxPathBytes) {
    return absl::InvalidArgumentError(StrCat("a path has at most ", kMaxPathBytes - 1, " bytes"));
  }
  if (bytes.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("a path can't contain NUL");
  }
  if (!bytes.empty() && bytes.front() == '/') {
    return absl::InvalidArgumentError("the path must be relative to the workspace");
  }
  std::string clean;
  for (const std::string_view component : Split(bytes, '/')) {
    if (component.empty() || component == ".") continue;
    if (component == "..") return absl::InvalidArgumentError("a path can't contain `..`");
    if (component.size() > kMaxNameBytes) {
      return absl::InvalidArgumentError(
          StrCat("a name in a path has at most ", kMaxNameBytes, " bytes"));
    }
    StrAppend(&clean, clean.empty() ? "" : "/", component);
  }
  return RelPath(std::move(clean));
}

std::string_view RelPath::Name() const {
  const std::size_t slash = bytes_.rfind('/');
  return slash == std::string::npos ? std::string_view(bytes_)
                                    : std::string_view(bytes_).substr(slash + 1);
}

}  // namespace sandkeep
