#include "gateway/mcp/tools/nearest_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"

namespace sandkeep::mcp {
namespace {

// Longer names are compared by their first part: the work for one pair is bounded.
constexpr std::size_t kComparedBytes = 64;

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string Lowered(std::string_view text) {
  std::string lowered(text.substr(0, kComparedBytes));
  absl::AsciiStrToLower(&lowered);
  return lowered;
}

std::string_view Stem(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

// Insertions, deletions and replacements from one to the other.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view wanted,
                                      const std::vector<std::string>& paths, std::size_t limit) {
  const std::string name = Lowered(NameOf(wanted));
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const std::string& path : paths) {
    const std::string other = Lowered(NameOf(path));
    std::size_t distance = Distance(name, other);
    if (Stem(name) == Stem(other)) distance = std::min<std::size_t>(distance, 1);
    const std::size_t allowed = std::max<std::size_t>(2, name.size() / 3);
    if (distance <= allowed) near.emplace_back(distance, &path);
  }
  // Equally near ones stay in the list's order, newest first: they point into it.
  std::sort(near.begin(), near.end());
  if (near.size() > limit) near.resize(limit);
  std::vector<std::string> names;
  for (const auto& [distance, path] : near) names.push_back(*path);
  return names;
}

}  // namespace sandkeep::mcp
