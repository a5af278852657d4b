#include "gateway/oauth/resource.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/limits.h"
#include "common/strings.h"
#include "gateway/oauth/uri.h"

namespace sandkeep::oauth {
namespace {

struct Parts {
  std::string origin;
  std::string path;
};

std::optional<Parts> Canonical(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return std::nullopt;
  const std::optional<Uri> uri = Uri::Parse(text);
  if (!uri.has_value() || !uri->query.empty() || uri->has_fragment) return std::nullopt;
  const std::optional<Uri::Host> host = uri->HostOf();
  const bool is_web = uri->scheme == "http" || uri->scheme == "https";
  if (!host.has_value() || !is_web) return std::nullopt;
  const std::string_view implied = uri->scheme == "https" ? "443" : "80";
  const std::string port = host->port == implied ? "" : host->port;
  Parts parts{.origin = StrCat(uri->scheme, "://", host->name, port.empty() ? "" : ":", port),
              .path = uri->path};
  while (!parts.path.empty() && parts.path.back() == '/') parts.path.pop_back();
  return parts;
}

}  // namespace

std::string OriginOf(std::string_view public_base) {
  const std::optional<Parts> parts = Canonical(public_base);
  return parts.has_value() ? parts->origin : std::string(public_base);
}

std::string ResourceOf(std::string_view public_base) {
  const std::optional<Parts> parts = Canonical(StrCat(public_base, "/mcp"));
  return parts.has_value() ? StrCat(parts->origin, parts->path) : StrCat(public_base, "/mcp");
}

bool MeansOurResource(const std::vector<std::string>& asked, std::string_view public_base) {
  const std::string ours = ResourceOf(public_base);
  const std::string origin = OriginOf(public_base);
  return std::all_of(asked.begin(), asked.end(), [&](const std::string& uri) {
    const std::optional<Parts> parts = Canonical(uri);
    if (!parts.has_value()) return false;
    return StrCat(parts->origin, parts->path) == ours ||
           (parts->origin == origin && parts->path.empty());
  });
}

}  // namespace sandkeep::oauth
