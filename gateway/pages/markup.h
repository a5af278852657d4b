// Text that others wrote, made harmless for HTML. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep {

// For text and for attribute values in double quotes: & < > " ' become references, and what isn't
// UTF-8 or is a control character becomes U+FFFD.
std::string EscapeHtml(std::string_view text);

// A name of any bytes as text that is what it seems: UTF-8, in which what turns the letters behind
// it around, ends a line or leaves no trace, so that a name or its ending looks like another, has
// become U+FFFD. What joins letters or parts them in some scripts stays. A name of blanks alone
// stands in quotes.
std::string ShownName(std::string_view bytes);

// As EscapeHtml, for what stands between words of ours, as a client's name does: isolated, so that
// letters that run from right to left can't turn our own words around.
std::string Isolated(std::string_view text);

}  // namespace sandkeep
