#include "common/hex.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace sandkeep {
namespace {

bool IsHexDigit(char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); }

int HexValue(char c) { return absl::ascii_isdigit(c) ? c - '0' : c - 'a' + 10; }

}  // namespace

std::optional<std::string> BytesOfHex(std::string_view hex) {
  if (hex.size() % 2 != 0 || !std::all_of(hex.begin(), hex.end(), IsHexDigit)) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(HexValue(hex[at]) << 4 | HexValue(hex[at + 1])));
  }
  return bytes;
}

}  // namespace sandkeep
