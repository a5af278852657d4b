// Names that a person can't tell apart: the same characters, of which some are written as one code
// point here and as a letter and its accents there. Macs send names of the second kind, models
// write the first. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandkeep::mcp {

// In Unicode's normal form C; nullopt: not UTF-8.
std::optional<std::string> Composed(std::string_view text);

// The one of `paths` that reads as `wanted` does. nullopt: none does, or several do.
std::optional<std::string> SameSpelling(std::string_view wanted,
                                        const std::vector<std::string>& paths);

}  // namespace sandkeep::mcp
