#include "common/utf8.h"

#include <cstdint>

namespace sandkeep {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(char c) { return (static_cast<std::uint8_t>(c) & 0xC0) == 0x80; }

// The length of the character at the start of `text`, or 0 if it is invalid or cut short.
std::size_t CharacterLength(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const auto second = static_cast<std::uint8_t>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_high = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_high ? 0 : length;
}

}  // namespace

std::size_t ValidUtf8Prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = CharacterLength(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

bool IsUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

std::string ToValidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t valid = ValidUtf8Prefix(bytes);
    out += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    out += kReplacement;
    bytes.remove_prefix(1);
  }
  return out;
}

std::string_view Utf8Head(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && IsContinuation(text[limit])) --limit;
  return text.substr(0, limit);
}

}  // namespace sandkeep
