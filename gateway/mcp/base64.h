// Base64 of RFC 4648 with padding: what the protocol puts into content and headers. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandkeep::mcp {

std::string Base64(std::string_view bytes);

// nullopt unless canonical: right alphabet, padding and length, unused bits zero.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace sandkeep::mcp
