// A request's headers for the model: those that tell how it arrived, by an allowlist. Of every
// other one only the name is shown, since its value may be a secret. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sandkeep::mcp {

// One `name: value` a line, in the order of arrival; at most kMaxShownHeaders.
std::string ShownHeaders(const std::vector<std::pair<std::string, std::string>>& headers);

}  // namespace sandkeep::mcp
