// Where the bytes of an upload lie until it is whole: beside the place it is for. sandkeep-files
// makes that name, and who asks how much has come, or takes it back, finds it by it. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "common/strings.h"

namespace sandkeep {

inline std::string PartName(std::string_view hex) { return StrCat(".sandkeep-", hex, ".part"); }

inline bool IsPartName(std::string_view name) {
  constexpr std::string_view kBegin = ".sandkeep-";
  constexpr std::string_view kEnd = ".part";
  return name.size() > kBegin.size() + kEnd.size() && name.substr(0, kBegin.size()) == kBegin &&
         name.substr(name.size() - kEnd.size()) == kEnd;
}

// Of the upload `id` (16 bytes) of the file at `path`.
inline std::string PartPath(std::string_view path, std::string_view id) {
  const std::string_view folder = path.substr(0, path.rfind('/') + 1);
  return StrCat(folder, PartName(absl::BytesToHexString(ToAbsl(id))));
}

}  // namespace sandkeep
