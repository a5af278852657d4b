// JSON as untrusted input: RFC 8259 and nothing beside it. Refused are comments, a byte order mark,
// text after the value, bytes that aren't UTF-8, lone surrogates, depth over kMaxJsonDepth, more
// than kMaxJsonValues values, and an object that names a key twice, since two readers of it would
// see two different messages. Any thread.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandkeep::mcp {

// InvalidArgument with a phrase that says what is wrong.
absl::StatusOr<boost::json::value> ParseStrictJson(std::string_view text);

// Appends `text` (UTF-8) as a JSON string, quotes included.
void AppendJsonString(std::string* out, std::string_view text);

}  // namespace sandkeep::mcp
