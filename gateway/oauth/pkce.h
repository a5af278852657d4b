// Proof Key for Code Exchange (RFC 7636), S256 alone. Any thread.
#pragma once

#include <string_view>

namespace sandkeep::oauth {

// 43 characters of base64url: a SHA-256.
bool IsChallenge(std::string_view challenge);

// Whether `verifier` is well-formed and its hash is `challenge`.
bool Proves(std::string_view verifier, std::string_view challenge);

}  // namespace sandkeep::oauth
