// A pattern for paths: `*` and `?` within one name, `[abc]`, `[a-z]`, `[!a]`, and `**` for any
// number of folders. As in a shell, what begins with a dot is only matched by a dot. Works in
// steps that are bounded by pattern times path, whatever either is. Plain value; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep {

class Glob {
 public:
  // InvalidArgument: over kMaxPatternBytes, absolute, `..` or NUL in it. Empty: every name of the
  // folder itself, dots too.
  static absl::StatusOr<Glob> Parse(std::string_view pattern);

  // `path` is relative to the folder that is searched.
  bool Matches(std::string_view path) const;

  // Something below this folder may match.
  bool LeadsInto(std::string_view folder) const;

 private:
  explicit Glob(std::vector<std::string> parts) : parts_(std::move(parts)) {}
  // `prefix`: whether a longer path could, else whether this one does.
  bool Fits(const std::vector<std::string_view>& names, bool prefix) const;

  std::vector<std::string> parts_;
};

}  // namespace sandkeep
