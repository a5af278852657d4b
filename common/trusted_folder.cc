#include "common/trusted_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

struct Component {
  std::string path;
  struct stat info;
};

bool OursOrRoots(const Component& component) {
  return component.info.st_uid == 0 || component.info.st_uid == ::geteuid();
}

bool WritableByOthers(const Component& component) {
  return (component.info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// Like /tmp: others may add entries, but not replace those of others.
bool Sticky(const Component& component) { return (component.info.st_mode & S_ISVTX) != 0; }

absl::Status Refuse(const Component& component, std::string_view why) {
  return absl::FailedPreconditionError(
      StrCat("the socket's folder can't be trusted: ", component.path, " ", why,
             " (chown it to root or chmod go-w)"));
}

// The folder's existing components, from / on, symlinks resolved.
absl::StatusOr<std::vector<Component>> ComponentsOf(const std::string& folder) {
  std::string existing = folder.empty() ? "." : folder;
  std::unique_ptr<char, decltype(&::free)> resolved(::realpath(existing.c_str(), nullptr), &::free);
  while (resolved == nullptr) {
    if (errno != ENOENT || existing == "/") return ErrnoStatus(errno, existing);
    const std::size_t slash = existing.find_last_of('/');
    existing = slash == std::string::npos ? "." : existing.substr(0, slash);
    if (existing.empty()) existing = "/";
    resolved.reset(::realpath(existing.c_str(), nullptr));
  }
  std::vector<Component> components;
  std::string path;
  for (const std::string_view part : Split(resolved.get(), '/')) {
    // The text before the first slash is the root's name.
    if (part.empty() && !components.empty()) continue;
    StrAppend(&path, components.size() > 1 ? "/" : "", components.empty() ? "/" : part);
    Component component{path, {}};
    if (::lstat(path.c_str(), &component.info) != 0) return ErrnoStatus(errno, path);
    components.push_back(std::move(component));
  }
  return components;
}

}  // namespace

absl::Status CheckTrustedFolder(const std::string& folder, FolderOwner owner) {
  ASSIGN_OR_RETURN(const std::vector<Component> components, ComponentsOf(folder));
  for (std::size_t i = 0; i < components.size(); ++i) {
    const Component& component = components[i];
    const bool last = i + 1 == components.size();
    if (WritableByOthers(component) && (last || !Sticky(component))) {
      return Refuse(component, "can be written by others");
    }
    if (OursOrRoots(component)) continue;
    const bool made_by_root = i > 0 && !WritableByOthers(components[i - 1]);
    if (owner == FolderOwner::kAnyPeer && last && made_by_root) continue;
    return Refuse(component, StrCat("belongs to user ", component.info.st_uid));
  }
  return absl::OkStatus();
}

}  // namespace sandkeep
