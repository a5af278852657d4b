#include "gateway/oauth/uri.h"

#include "absl/strings/ascii.h"
#include "common/strings.h"
#include "gateway/http/host_policy.h"

namespace sandkeep::oauth {
namespace {

constexpr std::string_view kMarks = "-._~:/?#@!$&'()*+,;=%";

bool IsHex(std::string_view text, std::size_t at) {
  return at < text.size() && absl::ascii_isxdigit(static_cast<unsigned char>(text[at]));
}

// Brackets belong to IPv6 addresses alone.
bool HasOnlyUriCharacters(std::string_view text, std::string_view more) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) continue;
    if (kMarks.find(c) == std::string_view::npos && more.find(c) == std::string_view::npos) {
      return false;
    }
    if (c == '%' && (!IsHex(text, i + 1) || !IsHex(text, i + 2))) return false;
  }
  return true;
}

bool IsScheme(std::string_view scheme) {
  if (scheme.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(scheme.front()))) {
    return false;
  }
  for (const char c : scheme) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Uri> Uri::Parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !IsScheme(text.substr(0, colon))) return std::nullopt;
  Uri uri;
  uri.scheme = absl::AsciiStrToLower(ToAbsl(text.substr(0, colon)));
  text.remove_prefix(colon + 1);
  if (text.substr(0, 2) == "//") {
    text.remove_prefix(2);
    uri.has_authority = true;
    uri.authority = std::string(text.substr(0, text.find_first_of("/?#")));
    text.remove_prefix(uri.authority.size());
  }
  if (!HasOnlyUriCharacters(uri.authority, "[]") || !HasOnlyUriCharacters(text, "")) {
    return std::nullopt;
  }
  const std::size_t fragment = text.find('#');
  uri.has_fragment = fragment != std::string_view::npos;
  text = text.substr(0, fragment);
  const std::size_t query = text.find('?');
  uri.path = std::string(text.substr(0, query));
  if (query != std::string_view::npos) uri.query = std::string(text.substr(query));
  return uri;
}

std::optional<Uri::Host> Uri::HostOf() const {
  std::optional<http::HostPort> parsed = http::HostPort::Parse(authority);
  if (!parsed.has_value()) return std::nullopt;
  return Host{std::move(parsed->name), std::move(parsed->port)};
}

}  // namespace sandkeep::oauth
