// What tokens are good for: our MCP endpoint, by its URL (RFC 8707). Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandkeep::oauth {

// The scheme, host and port of `public_base`: the issuer.
std::string OriginOf(std::string_view public_base);

// The audience of tokens for the endpoint below `public_base`.
std::string ResourceOf(std::string_view public_base);

// Whether `asked`, what a client sent as `resource`, means our endpoint: none at all does, so does
// the bare origin, and slashes at the end and the case of scheme and host make no difference.
bool MeansOurResource(const std::vector<std::string>& asked, std::string_view public_base);

}  // namespace sandkeep::oauth
