// The text of an access key: `sk-` and 256 random bits in base64url. It is shown once, when it is
// made, and stored as its SHA-256 only. Plain values; any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/random.h"
#include "common/secret.h"

namespace sandkeep {

Secret MintAccessKey(Random& random);

// What is stored and looked up: 32 bytes. 256 random bits need no slow hash.
std::string HashAccessKey(std::string_view key);

}  // namespace sandkeep
