// Base32 of RFC 4648 in lower case and without padding: what ids look like in names and links.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep {

std::string Base32(std::string_view bytes);

// True if every character is of the alphabet a-z2-7.
bool IsBase32(std::string_view text);

}  // namespace sandkeep
