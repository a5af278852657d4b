// Of many paths, those that a mistyped one may have meant. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandkeep::mcp {

// At most `limit`, the nearest first: the same name in another folder, another case, another
// ending, a few letters off. Empty if nothing is near.
std::vector<std::string> NearestNames(std::string_view wanted,
                                      const std::vector<std::string>& paths, std::size_t limit);

}  // namespace sandkeep::mcp
