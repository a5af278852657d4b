#include "agent/file_process/glob.h"

#include <algorithm>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kAnyFolders = "**";

// One `[…]` at `at`, which is behind the bracket. False: it doesn't end, and is a bracket.
bool ReadSet(std::string_view pattern, std::size_t& at, char c, bool& inside) {
  std::size_t i = at;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  inside = false;
  for (bool first = true; i < pattern.size(); first = false) {
    if (pattern[i] == ']' && !first) {
      at = i + 1;
      inside = inside != negated;
      return true;
    }
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    ++i;
    const auto byte = static_cast<unsigned char>(c);
    inside = inside || (low <= byte && byte <= high);
  }
  return false;
}

// Whether one element of the pattern takes this byte; `at` is moved behind the element.
bool TakesByte(std::string_view pattern, std::size_t& at, char c) {
  const char element = pattern[at++];
  if (element == '?') return true;
  bool inside = false;
  if (element == '[' && ReadSet(pattern, at, c, inside)) return inside;
  return element == c;
}

// The usual two-pointer walk: only the last `*` is ever tried again.
bool MatchesName(std::string_view pattern, std::string_view name) {
  if (!name.empty() && name.front() == '.' && (pattern.empty() || pattern.front() != '.')) {
    return false;
  }
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      resume = n;
      continue;
    }
    if (p < pattern.size() && TakesByte(pattern, p, name[n])) {
      ++n;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star;
    n = ++resume;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsHidden(std::string_view name) { return !name.empty() && name.front() == '.'; }

}  // namespace

absl::StatusOr<Glob> Glob::Parse(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(StrCat("a pattern has at most ", kMaxPatternBytes, " bytes"));
  }
  if (pattern.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("a pattern can't contain NUL");
  }
  if (!pattern.empty() && pattern.front() == '/') {
    return absl::InvalidArgumentError("a pattern is relative to the folder that is searched");
  }
  std::vector<std::string> parts;
  for (const std::string_view part : Split(pattern, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return absl::InvalidArgumentError("a pattern can't contain `..`");
    // Twice is the same, and would only be tried twice as often.
    const bool again = part == kAnyFolders && !parts.empty() && parts.back() == kAnyFolders;
    if (!again) parts.emplace_back(part);
  }
  return Glob(std::move(parts));
}

// Row by row: which parts of the pattern may stand before the next name.
bool Glob::Fits(const std::vector<std::string_view>& names, bool prefix) const {
  std::vector<bool> at(parts_.size() + 1, false);
  const auto settle = [this](std::vector<bool>& row) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (row[i] && parts_[i] == kAnyFolders) row[i + 1] = true;
    }
  };
  at[0] = true;
  settle(at);
  for (const std::string_view name : names) {
    std::vector<bool> next(parts_.size() + 1, false);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!at[i]) continue;
      if (parts_[i] == kAnyFolders) {
        next[i] = next[i] || !IsHidden(name);
      } else if (MatchesName(parts_[i], name)) {
        next[i + 1] = true;
      }
    }
    settle(next);
    at = std::move(next);
  }
  if (!prefix) return at[parts_.size()];
  // Some part is left for what lies below.
  return std::find(at.begin(), at.end() - 1, true) != at.end() - 1;
}

bool Glob::Matches(std::string_view path) const {
  const std::vector<std::string_view> names = Split(path, '/');
  if (parts_.empty()) return names.size() == 1;
  return Fits(names, false);
}

bool Glob::LeadsInto(std::string_view folder) const {
  if (parts_.empty()) return folder.empty();
  if (folder.empty()) return true;
  return Fits(Split(folder, '/'), true);
}

}  // namespace sandkeep
