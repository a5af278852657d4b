#include "gateway/mcp/tools/words.h"

#include <array>

#include "absl/strings/str_format.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {

std::string InWords(std::chrono::seconds span) {
  const std::int64_t seconds = span.count() < 0 ? 0 : span.count();
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return StrCat(seconds, " s");
  if (seconds < 2 * kHour) return StrCat(seconds / kMinute, " min");
  if (seconds < 2 * kDay) return StrCat(seconds / kHour, " h");
  return StrCat(seconds / kDay, " days");
}

std::string SizeInWords(std::int64_t bytes) {
  if (bytes < 1000) return StrCat(bytes, bytes == 1 ? " byte" : " bytes");
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (size >= 999.95 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", size, kUnits[unit]);
}

std::string OneLine(std::string_view text, std::size_t limit) {
  // Invalid bytes triple at most; only what can be shown is converted.
  std::string valid = ToValidUtf8(text.substr(0, limit + 4));
  for (char& c : valid) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  const std::string_view head = Utf8Head(valid, limit);
  return std::string(head);
}

}  // namespace sandkeep::mcp
