// SHA-256, HMAC-SHA-256 and the comparison that takes the same time for any two inputs, from
// OpenSSL. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep {

// 32 bytes each.
std::string Sha256(std::string_view data);
std::string HmacSha256(std::string_view key, std::string_view data);

bool EqualInConstantTime(std::string_view a, std::string_view b);

}  // namespace sandkeep
