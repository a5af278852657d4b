// The protocol revisions that are served, newest first. `Modern` ones carry what they need in each
// request; `legacy` ones begin with a handshake.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace sandkeep::mcp {

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::array<std::string_view, 3> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26"};
// What a client that names none is taken for: 2025-03-26 had no header for it.
inline constexpr std::string_view kUnnamedVersion = "2025-03-26";

inline bool IsLegacyVersion(std::string_view version) {
  return std::find(kLegacyVersions.begin(), kLegacyVersions.end(), version) !=
         kLegacyVersions.end();
}

// True for 2026-07-28 and any later date, served or not.
inline bool NamesModernVersion(std::string_view version) {
  const std::string_view form = "0000-00-00";
  if (version.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = version[i] >= '0' && version[i] <= '9';
    if (form[i] == '-' ? version[i] != '-' : !digit) return false;
  }
  return version >= kModernVersion;
}

}  // namespace sandkeep::mcp
