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

std::string Isolated(std::string_view text) { return StrCat("<bdi>", EscapeHtml(text), "</bdi>"); }

}  // namespace sandkeep
