#include "gateway/downloads/byte_range.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Digits only: no sign, no space. A number too large for us is beyond every file.
std::optional<std::int64_t> Number(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  if (text.size() > kMostDigits) return INT64_MAX;
  std::int64_t value = 0;
  return absl::SimpleAtoi(ToAbsl(text), &value) ? std::optional(value) : std::nullopt;
}

ByteRange Suffix(std::int64_t count, std::int64_t size) {
  if (count == 0 || size == 0) return {.kind = ByteRange::Kind::kUnsatisfiable};
  return {.kind = ByteRange::Kind::kPart, .first = size - std::min(count, size), .last = size - 1};
}

}  // namespace

ByteRange ByteRange::Parse(std::string_view header, std::int64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!absl::StartsWithIgnoreCase(ToAbsl(header), ToAbsl(kUnit))) return {};
  const std::string_view spec =
      ToStd(absl::StripAsciiWhitespace(ToAbsl(header.substr(kUnit.size()))));
  const std::size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return {};
  const std::optional<std::int64_t> first = Number(spec.substr(0, dash));
  const std::optional<std::int64_t> last = Number(spec.substr(dash + 1));
  const bool open_start = dash == 0;
  const bool open_end = dash + 1 == spec.size();
  if (open_start) return last.has_value() ? Suffix(*last, size) : ByteRange{};
  if (!first.has_value() || (!open_end && !last.has_value())) return {};
  if (last.has_value() && *last < *first) return {};
  if (*first >= size) return {.kind = Kind::kUnsatisfiable};
  return {.kind = Kind::kPart,
          .first = *first,
          .last = last.has_value() ? std::min(*last, size - 1) : size - 1};
}

}  // namespace sandkeep
