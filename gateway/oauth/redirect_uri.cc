#include "gateway/oauth/redirect_uri.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/oauth/uri.h"

namespace sandkeep::oauth {
namespace {

// Schemes that a browser or a system does something with that no client asked for.
constexpr std::array<std::string_view, 30> kForbidden = {
    "about", "blob",       "chrome", "content",  "data",        "dav",    "dict",     "feed",
    "file",  "filesystem", "ftp",    "gopher",   "help",        "intent", "jar",      "javascript",
    "ldap",  "livescript", "mailto", "mhtml",    "mocha",       "news",   "resource", "sftp",
    "smb",   "ssh",        "tel",    "vbscript", "view-source", "ws"};

std::optional<Uri> Parse(std::string_view text) {
  return text.size() > kMaxRedirectUriBytes ? std::nullopt : Uri::Parse(text);
}

bool IsWeb(const Uri& uri) { return uri.scheme == "http" || uri.scheme == "https"; }

// The host of an http URI on this device. nullopt: it isn't one.
std::optional<Uri::Host> LoopbackOf(const Uri& uri) {
  if (uri.scheme != "http") return std::nullopt;
  std::optional<Uri::Host> host = uri.HostOf();
  const bool loopback = host.has_value() && (host->name == "127.0.0.1" ||
                                             host->name == "localhost" || host->name == "[::1]");
  return loopback ? host : std::nullopt;
}

bool IsForbidden(std::string_view scheme) {
  return std::find(kForbidden.begin(), kForbidden.end(), scheme) != kForbidden.end() ||
         scheme == "wss" || absl::StartsWith(ToAbsl(scheme), "ms-") ||
         absl::StartsWith(ToAbsl(scheme), "search") || absl::StartsWith(ToAbsl(scheme), "chrome");
}

}  // namespace

absl::Status CheckRedirectUri(std::string_view text) {
  const std::optional<Uri> uri = Parse(text);
  if (!uri.has_value()) {
    return absl::InvalidArgumentError(StrCat("a redirect URI must be an absolute URI of at most ",
                                             kMaxRedirectUriBytes, " bytes"));
  }
  if (uri->has_fragment) return absl::InvalidArgumentError("a redirect URI has no fragment");
  if (uri->authority.find('@') != std::string::npos) {
    return absl::InvalidArgumentError("a redirect URI has no user");
  }
  if (IsWeb(*uri)) {
    if (!uri->HostOf().has_value())
      return absl::InvalidArgumentError("a redirect URI needs a host");
    if (uri->scheme == "https" || LoopbackOf(*uri).has_value()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "plain http is for 127.0.0.1, localhost and [::1] only: use https");
  }
  const bool hierarchical = uri->has_authority || absl::StartsWith(uri->path, "/");
  if (IsForbidden(uri->scheme) || !hierarchical) {
    return absl::InvalidArgumentError(StrCat("the scheme ", uri->scheme, " can't be used here"));
  }
  return absl::OkStatus();
}

bool RedirectMatches(std::string_view registered, std::string_view given) {
  if (registered == given) return true;
  const std::optional<Uri> ours = Parse(registered);
  const std::optional<Uri> theirs = Parse(given);
  if (!ours.has_value() || !theirs.has_value() || theirs->has_fragment) return false;
  const std::optional<Uri::Host> our_host = LoopbackOf(*ours);
  const std::optional<Uri::Host> their_host = LoopbackOf(*theirs);
  return our_host.has_value() && their_host.has_value() && our_host->name == their_host->name &&
         ours->path == theirs->path && ours->query == theirs->query;
}

bool IsLocalRedirect(std::string_view text) {
  const std::optional<Uri> uri = Parse(text);
  return !uri.has_value() || uri->scheme != "https";
}

std::string RedirectTarget(std::string_view text) {
  const std::optional<Uri> uri = Parse(text);
  if (!uri.has_value()) return "";
  const std::optional<Uri::Host> host = uri->HostOf();
  if (!IsWeb(*uri) || !host.has_value()) return StrCat(uri->scheme, ": (an app on this device)");
  return StrCat(host->name, host->port.empty() ? "" : ":", host->port,
                LoopbackOf(*uri).has_value() ? " (this device)" : "");
}

}  // namespace sandkeep::oauth
