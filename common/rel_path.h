// A path below a workspace: relative, without `.`, `..`, empty components or NUL. Bytes, not
// necessarily UTF-8: Linux names aren't. An empty path is the workspace itself. Plain value; any
// thread.
//
// The form is only the first fence: the file process opens beneath the volume with openat2 and
// follows no symlink.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandkeep {

class RelPath {
 public:
  // InvalidArgument: absolute, `..`, NUL, over 4095 bytes, a component over 255 bytes. `a//b/./c/`
  // becomes `a/b/c`.
  static absl::StatusOr<RelPath> Parse(std::string_view bytes);

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  // The last component; empty for the workspace itself.
  std::string_view Name() const;

  friend bool operator==(const RelPath&, const RelPath&) = default;

 private:
  explicit RelPath(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

}  // namespace sandkeep
