// What the file process's errno values mean to whoever asked for a file. Functions only; any
// thread.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace sandkeep {

// `path` as asked for: named in the message, invalid UTF-8 made valid.
absl::Status FileError(int error, std::string_view path);

}  // namespace sandkeep
