// A Range header, behind the size of the file on a line of its own. Judged once more by the plain
// reading of RFC 9110, over text instead of numbers.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "common/strings.h"
#include "gateway/downloads/byte_range.h"
#include "tests/fuzz/fuzz_target.h"

namespace sandkeep {
namespace {

// No file is larger than the largest number of so many digits, and one of more is beyond it.
constexpr std::size_t kMostDigits = 18;
constexpr std::string_view kBeyond = "1000000000000000000";

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Of two numbers, whether the first is the smaller. Those that no file reaches are all alike.
bool IsLess(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view text) -> std::string_view {
    text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
    return text.size() <= kMostDigits ? text : kBeyond;
  };
  const std::string_view x = plain(a);
  const std::string_view y = plain(b);
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

// nullopt: it is to be ignored.
struct Spec {
  std::string first;
  std::string last;
};

std::optional<Spec> SpecOf(std::string_view header) {
  const std::string unit = absl::AsciiStrToLower(ToAbsl(header.substr(0, 6)));
  if (unit != "bytes=") return std::nullopt;
  const std::string text(absl::StripAsciiWhitespace(ToAbsl(header.substr(6))));
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  Spec spec{text.substr(0, dash), text.substr(dash + 1)};
  const bool whole = (spec.first.empty() || IsDigits(spec.first)) &&
                     (spec.last.empty() || IsDigits(spec.last)) &&
                     !(spec.first.empty() && spec.last.empty());
  if (!whole) return std::nullopt;
  if (!spec.first.empty() && !spec.last.empty() && IsLess(spec.last, spec.first)) {
    return std::nullopt;
  }
  return spec;
}

// What the header asks for of a file of that size.
ByteRange Expected(std::string_view header, std::int64_t size) {
  const std::optional<Spec> spec = SpecOf(header);
  if (!spec.has_value()) return {};
  const std::string end = std::to_string(size);
  if (spec->first.empty()) {
    if (size == 0 || !IsLess("0", spec->last)) return {.kind = ByteRange::Kind::kUnsatisfiable};
    const std::int64_t count = IsLess(spec->last, end) ? std::stoll(spec->last) : size;
    return {.kind = ByteRange::Kind::kPart, .first = size - count, .last = size - 1};
  }
  if (!IsLess(spec->first, end)) return {.kind = ByteRange::Kind::kUnsatisfiable};
  const bool to_the_end = spec->last.empty() || !IsLess(spec->last, end);
  return {.kind = ByteRange::Kind::kPart,
          .first = std::stoll(spec->first),
          .last = to_the_end ? size - 1 : std::stoll(spec->last)};
}

int TestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kLargest = 999'999'999'999'999'999;
  std::string_view text = AsText(data, size);
  std::int64_t file = 0;
  if (!absl::SimpleAtoi(ToAbsl(TakeUntil(&text, '\n')), &file) || file < 0) return 0;
  file = std::min(file, kLargest);
  const ByteRange range = ByteRange::Parse(text, file);
  const ByteRange expected = Expected(text, file);
  Require(range.kind == expected.kind, "a header means one thing");
  if (range.kind != ByteRange::Kind::kPart) return 0;
  Require(range.first >= 0 && range.first <= range.last && range.last < file,
          "a part lies within the file");
  Require(range.length() > 0, "a part has a length");
  Require(range.first == expected.first && range.last == expected.last, "a part is what was asked");
  return 0;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sandkeep::TestOneInput(data, size);
}
