// absl's string functions for std::string_view. Debian 12 builds abseil with a string_view of its
// own, which converts neither way; ours is std::string_view everywhere, and this is the bridge. Any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sandkeep {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

// What StrCat passes on: a std::string_view converted, anything else (numbers, absl::Hex, strings)
// as it is.
template <typename T>
decltype(auto) StrArgument(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return ToAbsl(value);
  } else {
    return (value);
  }
}

template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(StrArgument(args)...);
}

template <typename... Args>
void StrAppend(std::string* text, const Args&... args) {
  absl::StrAppend(text, StrArgument(args)...);
}

// The parts between separators, empty ones included; views into `text`.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace sandkeep
