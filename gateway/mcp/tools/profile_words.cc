#include "gateway/mcp/tools/profile_words.h"

#include <array>

#include "absl/strings/ascii.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

struct Renamed {
  std::string_view words;
  std::string_view there;
};

constexpr std::array kRenamed = {
    Renamed{"/workspace", "/sandbox"},     Renamed{"run_command", "execute"},
    Renamed{"present_file", "share_file"}, Renamed{"check the label, or ", ""},
    Renamed{" with this label", ""},       Renamed{" of this label", ""},
    Renamed{" with this sandbox", ""},
};

bool IsOfName(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '/'; }

// Not a part of another word: a file may be called run_command.sh. A path goes on with a slash.
bool StandsAlone(std::string_view text, std::size_t at, std::string_view words) {
  if (absl::ascii_isspace(words.front()) || absl::ascii_isspace(words.back())) return true;
  if (at > 0 && (IsOfName(text[at - 1]) || text[at - 1] == '.')) return false;
  const std::string_view after = text.substr(at + words.size());
  if (after.empty()) return true;
  if (after.front() == '.') return after.size() == 1 || !IsOfName(after[1]);
  if (words.front() == '/' && after.front() == '/') return true;
  return !IsOfName(after.front());
}

const Renamed* RenamedAt(std::string_view text, std::size_t at) {
  for (const Renamed& renamed : kRenamed) {
    if (text.substr(at, renamed.words.size()) != renamed.words) continue;
    if (StandsAlone(text, at, renamed.words)) return &renamed;
  }
  return nullptr;
}

}  // namespace

std::string InOneSandbox(std::string_view words) {
  std::string moved;
  moved.reserve(words.size());
  for (std::size_t at = 0; at < words.size();) {
    const Renamed* renamed = RenamedAt(words, at);
    if (renamed == nullptr) {
      moved += words[at++];
      continue;
    }
    moved += renamed->there;
    at += renamed->words.size();
  }
  return moved;
}

std::string InProfile(const CallContext& context, std::string_view words) {
  return context.persistent ? InOneSandbox(words) : std::string(words);
}

}  // namespace sandkeep::mcp
