// Percent-encoding of the paths in links (RFC 3986). Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandkeep {

// Everything but A-Z a-z 0-9 - . _ ~ becomes %XX, `/` too unless `keep_slash`. Brackets as well: a
// link stands in Markdown.
std::string PercentEncode(std::string_view bytes, bool keep_slash);

// nullopt: a `%` without two digits, or with a small letter among them. Nobody encodes so, and one
// spelling less is one bit less that could be altered without effect.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace sandkeep
