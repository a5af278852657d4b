#include "common/label.h"

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep {
namespace {

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Lowers letters and joins runs of anything else in ASCII to single dashes, none at either end.
std::string Normalise(std::string_view text) {
  std::string out;
  bool dash = false;
  for (const char c : text) {
    if (IsAscii(c) && !absl::ascii_isalnum(c)) {
      dash = !out.empty();
      continue;
    }
    if (dash) out += '-';
    dash = false;
    out += IsAscii(c) ? absl::ascii_tolower(c) : c;
  }
  return out;
}

}  // namespace

absl::StatusOr<Label> Label::Parse(std::string_view text) {
  if (text.size() > kMaxLabelBytes) {
    return absl::InvalidArgumentError(StrCat("a sandbox label has at most ", kMaxLabelBytes,
                                             " bytes; this one has ", text.size()));
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError("a sandbox label must be valid UTF-8");
  std::string normalised = Normalise(text);
  if (normalised.empty()) {
    return absl::InvalidArgumentError("a sandbox label needs at least one letter or digit");
  }
  return Label(std::move(normalised));
}

std::string Label::Slug() const {
  std::string slug;
  for (const char c : text_) {
    if (IsAscii(c)) slug += c;
  }
  // Cutting and dropping may leave dashes at the ends or doubled.
  slug = Normalise(slug).substr(0, kMaxSlugChars);
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "sb" : slug;
}

}  // namespace sandkeep
