// Media types by a file name's ending: /etc/mime.types where there is one, and the commonest
// built in. Read once; then any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace sandkeep {

class MimeTypes {
 public:
  // The file's entries over the built-in ones. A file that can't be read adds nothing.
  static MimeTypes Load(const std::string& file = "/etc/mime.types");

  // `application/octet-stream` for endings nobody knows. `name` may be a path.
  std::string_view Of(std::string_view name) const;

 private:
  absl::flat_hash_map<std::string, std::string> by_ending_;
};

}  // namespace sandkeep
