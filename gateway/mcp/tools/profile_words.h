// Words of ours, with the names that a profile's people know: the persistent one has no labels, and
// its folder, its command and its way to hand over a file have names of their own. For our own
// words only: what a command printed and what a file holds stays as it is. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "gateway/mcp/call_context.h"

namespace sandkeep::mcp {

// As the persistent profile says it.
std::string InOneSandbox(std::string_view words);

// As the profile of this call says it.
std::string InProfile(const CallContext& context, std::string_view words);

}  // namespace sandkeep::mcp
