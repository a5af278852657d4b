// Hexadecimal digits in lower case back to bytes. By hand: the absl::HexStringToBytes of Debian 12
// is deprecated in Debian 13, whose other one isn't in 12. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandkeep {

// nullopt: not pairs of 0-9 and a-f.
std::optional<std::string> BytesOfHex(std::string_view hex);

}  // namespace sandkeep
