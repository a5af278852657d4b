// An exact replacement in a text, and why it can't be made: models err in line ends, in
// indentation, and in what they remember. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep::mcp {

struct EditedText {
  std::string text;
  std::vector<std::int64_t> lines;  // Where in the old text it was made, counted from 1.
};

// InvalidArgument: `old_text` isn't there, or more than once without `replace_all`; the message
// says what is near it.
absl::StatusOr<EditedText> EditText(std::string_view text, std::string_view old_text,
                                    std::string_view new_text, bool replace_all);

}  // namespace sandkeep::mcp
