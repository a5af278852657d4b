#include "gateway/mcp/tools/workspace_path.h"

#include <algorithm>
#include <array>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kWorkspace = "/workspace";
// How models write links to files of theirs.
constexpr std::array<std::string_view, 2> kSchemes = {"file://", "sandbox:"};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The shell has to see a leading ~/ bare.
std::string ShellPath(std::string_view path) {
  constexpr std::string_view kHome = "~/";
  if (!StartsWith(path, kHome) || path == kHome) return ShellQuoted(path);
  return StrCat(kHome, ShellQuoted(path.substr(kHome.size())));
}

absl::Status NotBelow(std::string_view path) {
  return absl::InvalidArgumentError(
      StrCat("Only files below /workspace can be reached from outside: copy it there with "
             "run_command, then name the copy.\ncp -- ",
             ShellPath(path), " /workspace/"));
}

}  // namespace

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:,@%-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += "'";
  return quoted;
}

std::string_view WithoutScheme(std::string_view path) {
  for (const std::string_view scheme : kSchemes) {
    if (StartsWith(path, scheme)) path.remove_prefix(scheme.size());
  }
  return path;
}

absl::StatusOr<RelPath> WorkspacePath(std::string_view path) {
  path = WithoutScheme(path);
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "The path is missing: give a file's path, relative to /workspace.");
  }
  if (path.size() >= kMaxPathBytes || path.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError(StrCat("No file has such a path: give one of at most ",
                                             kMaxPathBytes - 1, " bytes, without NUL."));
  }
  if (path.front() == '~') return NotBelow(path);
  if (path.front() == '/') {
    const bool below = StartsWith(path, kWorkspace) &&
                       (path.size() == kWorkspace.size() || path[kWorkspace.size()] == '/');
    if (!below) return NotBelow(path);
    path.remove_prefix(kWorkspace.size());
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  }
  absl::StatusOr<RelPath> relative = RelPath::Parse(path);
  if (!relative.ok()) {
    return absl::InvalidArgumentError(
        StrCat("This path leads nowhere (", ToStd(relative.status().message()),
               "): give the file's path below /workspace, without .. in it."));
  }
  return relative;
}

}  // namespace sandkeep::mcp
