// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sandkeep {

bool IsUtf8(std::string_view text);

// The length of the longest valid prefix; what follows is invalid or cut short.
std::size_t ValidUtf8Prefix(std::string_view text);

// Every invalid byte becomes U+FFFD.
std::string ToValidUtf8(std::string_view bytes);

// At most `limit` bytes of `text`, never cutting a character.
std::string_view Utf8Head(std::string_view text, std::size_t limit);

}  // namespace sandkeep
