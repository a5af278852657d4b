// A path as a model gives it, to one below the workspace. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/rel_path.h"

namespace sandkeep::mcp {

// Relative, or below /workspace, also as a file: URL. Any other is refused with the line that
// copies the file there.
absl::StatusOr<RelPath> WorkspacePath(std::string_view path);

// Without the scheme that models put before paths.
std::string_view WithoutScheme(std::string_view path);

// For bash, in single quotes if it needs any.
std::string ShellQuoted(std::string_view text);

}  // namespace sandkeep::mcp
