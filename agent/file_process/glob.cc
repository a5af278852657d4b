#include "agent/file_process/glob.h"

#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kAnyFolders = "**";
constexpr std::string_view kAnyDottedFolders = ".**";

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

void Glob::AddAnyFolders(bool dotted) {
  // Twice is the same, and those that take more take the others' too.
  if (accept_ > 0 && any_folders_[accept_ - 1]) {
    if (dotted) any_dotted_.set(accept_ - 1);
    return;
  }
  begins_.set(accept_);
  any_folders_.set(accept_);
  any_dotted_.set(accept_, dotted);
  ++accept_;
}

void Glob::AddPart(std::string_view part) {
  begins_.set(accept_);
  if (IsHidden(part)) dotted_.set(accept_);
  for (std::size_t at = 0; at < part.size();) {
    const char first = part[at++];
    // Twice is the same.
    if (first == '*' && accept_ > 0 && stars_[accept_ - 1]) continue;
    Bytes bytes;
    if (first == '*') {
      stars_.set(accept_);
    } else if (first == '?') {
      bytes.set();
    } else if (first != '[' || !ReadSet(part, at, bytes)) {
      bytes.set(static_cast<unsigned char>(first));
    }
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
      if (bytes[byte]) bytes_[byte].set(accept_);
    }
    ++accept_;
  }
  ends_.set(accept_);
  ++accept_;
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
  Glob glob;
  for (const std::string_view part : Split(pattern, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return absl::InvalidArgumentError("a pattern can't contain `..`");
    const bool dotted = part == kAnyDottedFolders;
    if (!dotted && part != kAnyFolders) {
      glob.AddPart(part);
    } else {
      glob.AddAnyFolders(dotted);
    }
  }
  if (glob.accept_ == 0) {
    glob.AddPart("*");
    glob.dotted_.set(0);
  }
  glob.start_.set(0);
  glob.start_ = glob.PastAnyFolders(glob.start_);
  return glob;
}

Glob::State Glob::Step(const State& folder, std::string_view name) const {
  const bool hidden = IsHidden(name);
  State at = PastStars(folder & (hidden ? dotted_ : begins_ & ~any_folders_));
  for (const char c : name) {
    if (at.none()) break;
    at = PastStars((at & bytes_[static_cast<unsigned char>(c)]) << 1 | (at & stars_));
  }
  State next = (at & ends_) << 1;
  next |= folder & (hidden ? any_dotted_ : any_folders_);
  return PastAnyFolders(next);
}

}  // namespace sandkeep
