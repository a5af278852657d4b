// Figures in words for models and people. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandkeep::mcp {

// The largest unit that says enough: `40 s`, `45 min`, `3 h`, `2 days`.
std::string InWords(std::chrono::seconds span);

// `812 bytes`, `12.3 kB`, `1.5 GB`: powers of 1000.
std::string SizeInWords(std::int64_t bytes);

// Foreign text on one line: what would end it or move the cursor becomes a blank, the rest is cut
// to `limit` bytes of UTF-8.
std::string OneLine(std::string_view text, std::size_t limit);

}  // namespace sandkeep::mcp
