#include "gateway/uploads/content_range.h"

#include <charconv>

namespace sandkeep {
namespace {

// A number from the front of `text`, and the one character behind it; '\0': the text's end.
bool Take(std::string_view* text, char behind, std::int64_t* number) {
  const char* const end = text->data() + text->size();
  if (text->empty() || text->front() < '0' || text->front() > '9') return false;
  const auto [stop, error] = std::from_chars(text->data(), end, *number);
  if (error != std::errc()) return false;
  if (behind == '\0') return stop == end;
  if (stop == end || *stop != behind) return false;
  text->remove_prefix(static_cast<std::size_t>(stop - text->data()) + 1);
  return true;
}

}  // namespace

std::optional<ContentRange> ContentRange::Parse(std::string_view header) {
  constexpr std::string_view kUnit = "bytes ";
  if (header.substr(0, kUnit.size()) != kUnit) return std::nullopt;
  header.remove_prefix(kUnit.size());
  ContentRange range;
  std::int64_t last = 0;
  if (!Take(&header, '-', &range.first) || !Take(&header, '/', &last) ||
      !Take(&header, '\0', &range.total)) {
    return std::nullopt;
  }
  if (last < range.first || last >= range.total) return std::nullopt;
  range.length = last - range.first + 1;
  return range;
}

}  // namespace sandkeep
