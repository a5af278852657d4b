#include "gateway/oauth/browser_cookie.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "common/strings.h"

namespace sandkeep::oauth {
namespace {

constexpr std::size_t kCookieBytes = 32;

bool IsHttps(const http::Request& request) {
  return absl::StartsWithIgnoreCase(request.public_base, "https://");
}

std::string_view NameFor(const http::Request& request) {
  return IsHttps(request) ? "__Host-sandkeep-sign-in" : "sandkeep-sign-in";
}

bool CouldBeOurs(std::string_view value) {
  std::string bytes;
  return absl::WebSafeBase64Unescape(ToAbsl(value), &bytes) && bytes.size() == kCookieBytes &&
         absl::WebSafeBase64Escape(bytes) == ToAbsl(value);
}

}  // namespace

std::string BrowserCookie::Read(const http::Request& request) {
  const std::string* header = request.Find("cookie");
  if (header == nullptr) return "";
  const std::string prefix = StrCat(NameFor(request), "=");
  for (const std::string_view pair : Split(*header, ';')) {
    const std::string_view trimmed = ToStd(absl::StripAsciiWhitespace(ToAbsl(pair)));
    if (trimmed.substr(0, prefix.size()) != prefix) continue;
    const std::string_view value = trimmed.substr(prefix.size());
    if (CouldBeOurs(value)) return std::string(value);
  }
  return "";
}

std::string BrowserCookie::ReadOrMake(const http::Request& request, Random& random) {
  std::string value = Read(request);
  return value.empty() ? absl::WebSafeBase64Escape(random.Bytes(kCookieBytes)) : value;
}

http::Header BrowserCookie::Header(const http::Request& request, std::string_view value) {
  return {"Set-Cookie", StrCat(NameFor(request), "=", value, "; Path=/; HttpOnly; SameSite=Lax",
                               IsHttps(request) ? "; Secure" : "")};
}

}  // namespace sandkeep::oauth
