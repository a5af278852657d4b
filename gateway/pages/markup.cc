#include "gateway/pages/markup.h"

#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep {
namespace {

std::string_view ReferenceFor(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

// How many bytes the character there has, if it is a control character, ends a line, sets a
// direction for those behind it or has no width.
std::size_t HiddenAt(std::string_view utf8, std::size_t at) {
  const std::string_view rest = utf8.substr(at);
  if (IsControl(rest[0])) return 1;
  // U+0080 to U+009F.
  const std::string_view two = rest.substr(0, 2);
  if (two >= "\xC2\x80" && two <= "\xC2\x9F") return 2;
  // U+00AD, a hyphen where a line breaks.
  if (two == "\xC2\xAD") return 2;
  // U+2028 to U+202E, U+2066 to U+2069.
  const std::string_view three = rest.substr(0, 3);
  const bool lines = three >= "\xE2\x80\xA8" && three <= "\xE2\x80\xAE";
  const bool isolates = three >= "\xE2\x81\xA6" && three <= "\xE2\x81\xA9";
  // U+200B, U+2060 to U+2064, U+FEFF.
  const bool no_width = three == "\xE2\x80\x8B" || three == "\xEF\xBB\xBF" ||
                        (three >= "\xE2\x81\xA0" && three <= "\xE2\x81\xA4");
  return lines || isolates || no_width ? 3 : 0;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : ToValidUtf8(text)) {
    if (const std::string_view reference = ReferenceFor(c); !reference.empty()) {
      escaped += reference;
    } else if (IsControl(c)) {
      escaped += "\xEF\xBF\xBD";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string ShownName(std::string_view bytes) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string text = ToValidUtf8(bytes);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t length = HiddenAt(text, i);
    if (length > 0) text.replace(i, length, kReplacement);
    if (length > 0) i += kReplacement.size() - 1;
  }
  const bool blank = text.find_first_not_of(' ') == std::string::npos;
  return blank ? StrCat("“", text, "”") : text;
}

std::string Isolated(std::string_view text) { return StrCat("<bdi>", EscapeHtml(text), "</bdi>"); }

}  // namespace sandkeep
