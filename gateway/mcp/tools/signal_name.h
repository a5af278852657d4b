// Signals by the names that shells have for them. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandkeep::mcp {

// `TERM`, `SIGTERM`, `term` or `15`. nullopt: none that is known here.
std::optional<int> SignalOf(std::string_view name);

// All that are known, for people.
std::string KnownSignals();

}  // namespace sandkeep::mcp
