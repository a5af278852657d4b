// What clients find out about us before they sign in: RFC 9728 (the endpoint) and RFC 8414 (the
// authorization server), as JSON. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandkeep::oauth {

// Where the endpoint's metadata is: what the 401 challenge of /mcp names.
std::string ResourceMetadataUrl(std::string_view public_base);

// The document at `path` (`/.well-known/…`). nullopt: there is none.
std::optional<std::string> MetadataAt(std::string_view path, std::string_view public_base);

}  // namespace sandkeep::oauth
