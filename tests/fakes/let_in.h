// Rights to every folder of a tree, for a process that is to delete it: what has been forbidden to
// its owner hinders a sandbox's root, who is in a user namespace of its own, in nothing.
#pragma once

#include <filesystem>

namespace sandkeep {

inline void LetIn(const std::filesystem::path& folder) {
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all,
                               std::filesystem::perm_options::add);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) LetIn(entry.path());
  }
}

}  // namespace sandkeep
