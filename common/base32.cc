#include "common/base32.h"

#include <algorithm>
#include <cstdint>

namespace sandkeep {
namespace {

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";

}  // namespace

std::string Base32(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 8 + 4) / 5);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char byte : bytes) {
    buffer = (buffer << 8) | static_cast<std::uint8_t>(byte);
    bits += 8;
    for (; bits >= 5; bits -= 5) text += kAlphabet[(buffer >> (bits - 5)) & 31];
  }
  if (bits > 0) text += kAlphabet[(buffer << (5 - bits)) & 31];
  return text;
}

bool IsBase32(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return kAlphabet.find(c) != std::string_view::npos; });
}

}  // namespace sandkeep
