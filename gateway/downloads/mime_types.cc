#include "gateway/downloads/mime_types.h"

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Longer than any ending in use.
constexpr std::size_t kMaxEndingBytes = 32;

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kBuiltIn = {{
    {"aac", "audio/aac"},
    {"avif", "image/avif"},
    {"csv", "text/csv"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"html", "text/html"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"log", "text/plain"},
    {"md", "text/markdown"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"txt", "text/plain"},
    {"wav", "audio/x-wav"},
    {"webp", "image/webp"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"zip", "application/zip"},
}};

std::string_view EndingOf(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

}  // namespace

MimeTypes MimeTypes::Load(const std::string& file) {
  MimeTypes types;
  for (const auto& [ending, type] : kBuiltIn) types.by_ending_.emplace(ending, type);
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string type;
    std::string ending;
    words >> type;
    while (words >> ending) types.by_ending_[absl::AsciiStrToLower(ending)] = type;
  }
  return types;
}

std::string_view MimeTypes::Of(std::string_view name) const {
  const std::string_view ending = EndingOf(name);
  if (!ending.empty() && ending.size() <= kMaxEndingBytes) {
    const auto found = by_ending_.find(absl::AsciiStrToLower(ToAbsl(ending)));
    if (found != by_ending_.end()) return found->second;
  }
  return "application/octet-stream";
}

}  // namespace sandkeep
