#include "gateway/mcp/tools/shown_headers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

// Never one that carries a credential, an address or a person's preferences.
constexpr std::array<std::string_view, 13> kShown = {
    "accept",     "accept-encoding",      "connection",       "content-length", "content-type",
    "host",       "mcp-protocol-version", "mcp-method",       "mcp-name",       "origin",
    "user-agent", "x-forwarded-proto",    "transfer-encoding"};

}  // namespace

std::string ShownHeaders(const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, value] : headers) {
    if (++count > kMaxShownHeaders) {
      StrAppend(&text, "… ", headers.size() - kMaxShownHeaders, " more\n");
      break;
    }
    const std::string lowered = absl::AsciiStrToLower(name);
    const bool shown = std::find(kShown.begin(), kShown.end(), lowered) != kShown.end();
    StrAppend(&text, OneLine(lowered, kMaxShownHeaderBytes), ": ",
              shown ? OneLine(value, kMaxShownHeaderBytes) : std::string("<redacted>"), "\n");
  }
  return text;
}

}  // namespace sandkeep::mcp
