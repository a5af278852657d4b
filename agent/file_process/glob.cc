#include "agent/file_process/glob.h"

#include <algorithm>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kAnyFolders = "**";

using Bytes = std::bitset<256>;

// One `[…]` at `at`, which is behind the bracket. False: it doesn't end, and is a bracket.
bool ReadSet(std::string_view pattern, std::size_t& at, Bytes& bytes) {
  std::size_t i = at;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  Bytes inside;
  for (bool first = true; i < pattern.size(); first = false) {
    if (pattern[i] == ']' && !first) {
      at = i + 1;
      bytes = negated ? ~inside : inside;
      return true;
    }
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    ++i;
    for (std::size_t byte = low; byte <= high; ++byte) inside.set(byte);
  }
  return false;
}

bool IsHidden(std::string_view name) { return !name.empty() && name.front() == '.'; }

}  // namespace

Glob::Element Glob::ReadElement(std::string_view pattern, std::size_t& at) {
  const char first = pattern[at++];
  Element element;
  if (first == '*') {
    element.star = true;
  } else if (first == '?') {
    element.bytes.set();
  } else if (first != '[' || !ReadSet(pattern, at, element.bytes)) {
    element.bytes.set(static_cast<unsigned char>(first));
  }
  return element;
}

Glob::Part Glob::ReadPart(std::string_view pattern) {
  Part part;
  part.any_folders = pattern == kAnyFolders;
  part.dotted = IsHidden(pattern);
  for (std::size_t at = 0; at < pattern.size();) part.elements.push_back(ReadElement(pattern, at));
  return part;
}

// The usual two-pointer walk: only the last `*` is ever tried again.
bool Glob::MatchesName(const Part& part, std::string_view name) {
  if (IsHidden(name) && !part.dotted) return false;
  const std::vector<Element>& elements = part.elements;
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = kNone;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < elements.size() && elements[p].star) {
      star = ++p;
      resume = n;
      continue;
    }
    if (p < elements.size() && elements[p].bytes[static_cast<unsigned char>(name[n])]) {
      ++p;
      ++n;
      continue;
    }
    if (star == kNone) return false;
    p = star;
    n = ++resume;
  }
  while (p < elements.size() && elements[p].star) ++p;
  return p == elements.size();
}

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
  std::vector<Part> parts;
  for (const std::string_view part : Split(pattern, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return absl::InvalidArgumentError("a pattern can't contain `..`");
    // Twice is the same, and would only be tried twice as often.
    const bool again = part == kAnyFolders && !parts.empty() && parts.back().any_folders;
    if (!again) parts.push_back(ReadPart(part));
  }
  return Glob(std::move(parts));
}

// Row by row: which parts of the pattern may stand before the next name.
bool Glob::Fits(const std::vector<std::string_view>& names, bool prefix) const {
  std::vector<bool> at(parts_.size() + 1, false);
  const auto settle = [this](std::vector<bool>& row) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (row[i] && parts_[i].any_folders) row[i + 1] = true;
    }
  };
  at[0] = true;
  settle(at);
  for (const std::string_view name : names) {
    std::vector<bool> next(parts_.size() + 1, false);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!at[i]) continue;
      if (parts_[i].any_folders) {
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
