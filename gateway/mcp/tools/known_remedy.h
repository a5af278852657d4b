// Failures of package managers that models meet in every fresh sandbox and whose remedy is one
// line. Pure; any thread.
#pragma once

#include <string_view>

namespace sandkeep::mcp {

// `tail`: the end of a failed command's output. Empty: nothing that is known.
std::string_view KnownRemedy(std::string_view tail);

}  // namespace sandkeep::mcp
