#include "gateway/http/host_policy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

constexpr std::string_view kHostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-._";
constexpr std::string_view kIpv6Characters = "0123456789abcdef:.";
constexpr std::size_t kMaxHostBytes = 255;
constexpr std::size_t kMaxPortDigits = 5;

bool OnlyOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

struct Origin {
  std::string scheme;
  HostPort host;
  std::string path;  // What follows.
};

// The port that the scheme implies is left out, as browsers do.
std::optional<Origin> ParseUrl(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(text));
  for (const auto& [scheme, port] : {std::pair{"http", "80"}, std::pair{"https", "443"}}) {
    const std::string prefix = StrCat(scheme, "://");
    if (!absl::StartsWith(lower, prefix)) continue;
    const std::size_t slash = text.find('/', prefix.size());
    std::optional<HostPort> host =
        HostPort::Parse(text.substr(prefix.size(), slash - prefix.size()));
    if (!host.has_value()) return std::nullopt;
    if (host->port == port) host->port.clear();
    return Origin{scheme, *std::move(host),
                  slash == std::string_view::npos ? "" : std::string(text.substr(slash))};
  }
  return std::nullopt;
}

std::string Text(const Origin& origin) {
  return StrCat(origin.scheme, "://", origin.host.name, origin.host.port.empty() ? "" : ":",
                origin.host.port);
}

std::string WithoutSlashes(std::string text) {
  while (!text.empty() && text.back() == '/') text.pop_back();
  return text;
}

// Every address of the machine: no name of ours.
bool IsWildcard(const HostPort& host) { return host.name == "0.0.0.0" || host.name == "[::]"; }

}  // namespace

std::optional<HostPort> HostPort::Parse(std::string_view text) {
  if (text.empty() || text.size() > kMaxHostBytes) return std::nullopt;
  HostPort host;
  const std::string lower = absl::AsciiStrToLower(ToAbsl(text));
  std::size_t end = lower.find(':');
  if (lower.front() == '[') {
    const std::size_t bracket = lower.find(']');
    if (bracket == std::string::npos) return std::nullopt;
    if (!OnlyOf(std::string_view(lower).substr(1, bracket - 1), kIpv6Characters)) {
      return std::nullopt;
    }
    end = bracket + 1;
  } else if (!OnlyOf(std::string_view(lower).substr(0, end), kHostCharacters)) {
    return std::nullopt;
  }
  host.name = lower.substr(0, end);
  if (end >= lower.size()) return host;
  host.port = lower.substr(end + 1);
  if (lower[end] != ':' || !OnlyOf(host.port, "0123456789") || host.port.size() > kMaxPortDigits) {
    return std::nullopt;
  }
  return host;
}

absl::StatusOr<HostPolicy> HostPolicy::Make(const HostPolicySettings& settings) {
  HostPolicy policy;
  Mistakes mistakes;
  policy.hosts_ = {{"localhost", ""}, {"127.0.0.1", ""}, {"[::1]", ""}};
  const bool bare_ipv6 =
      std::count(settings.listen_host.begin(), settings.listen_host.end(), ':') > 1 &&
      settings.listen_host.front() != '[';
  const std::optional<HostPort> listen =
      HostPort::Parse(bare_ipv6 ? StrCat("[", settings.listen_host, "]") : settings.listen_host);
  if (listen.has_value() && !IsWildcard(*listen)) policy.hosts_.push_back({listen->name, ""});
  for (const std::string& entry : settings.allowed_hosts) {
    std::optional<HostPort> host = HostPort::Parse(entry);
    if (!host.has_value()) {
      mistakes.Add(StrCat("ALLOWED_HOSTS: `", entry, "` is not a host name"));
      continue;
    }
    policy.hosts_.push_back(*std::move(host));
  }
  for (const std::string& entry : settings.allowed_origins) {
    const std::optional<Origin> origin = ParseUrl(WithoutSlashes(entry));
    if (!origin.has_value() || !origin->path.empty()) {
      mistakes.Add(
          StrCat("ALLOWED_ORIGINS: `", entry, "` is not an origin like https://app.example.com"));
      continue;
    }
    policy.origins_.push_back(Text(*origin));
  }
  if (!settings.public_base.empty() && !policy.TakeBase(settings.public_base)) {
    mistakes.Add(StrCat("MCP_PUBLIC_BASE: `", settings.public_base,
                        "` is not a URL like https://sandbox.example.com"));
  }
  if (!settings.download_base.empty() && !policy.TakeDownloadBase(settings.download_base)) {
    mistakes.Add(StrCat("DOWNLOAD_BASE: `", settings.download_base,
                        "` is not an origin like https://files.example.com, with another name than "
                        "MCP_PUBLIC_BASE's"));
  }
  RETURN_IF_ERROR(mistakes.status());
  return policy;
}

// After the others, none of which it may be: a file that acts must not act as a page of ours.
bool HostPolicy::TakeDownloadBase(const std::string& url) {
  download_base_ = WithoutSlashes(url);
  const std::optional<Origin> base = ParseUrl(download_base_);
  if (!base.has_value() || !base->path.empty() || AllowsHost(base->host)) return false;
  download_host_ = base->host;
  hosts_.push_back(base->host);
  return true;
}

bool HostPolicy::IsForDownloads(const HostPort& host) const {
  return download_host_.has_value() && download_host_->name == host.name &&
         (download_host_->port.empty() || download_host_->port == host.port);
}

bool HostPolicy::TakeBase(const std::string& url) {
  public_base_ = WithoutSlashes(url);
  const std::optional<Origin> base = ParseUrl(public_base_);
  if (!base.has_value() || base->path.find_first_of("?#% \"\\<>") != std::string::npos) {
    return false;
  }
  hosts_.push_back({base->host.name, ""});
  origins_.push_back(Text(*base));
  base_path_ = base->path;
  return true;
}

bool HostPolicy::AllowsHost(const HostPort& host) const {
  return std::any_of(hosts_.begin(), hosts_.end(), [&host](const HostPort& allowed) {
    return allowed.name == host.name && (allowed.port.empty() || allowed.port == host.port);
  });
}

bool HostPolicy::AllowsOrigin(std::string_view origin, const HostPort& host) const {
  const std::optional<Origin> parsed = ParseUrl(origin);
  if (!parsed.has_value() || !parsed->path.empty()) return false;
  if (std::find(origins_.begin(), origins_.end(), Text(*parsed)) != origins_.end()) return true;
  HostPort own = host;
  if (own.port == (parsed->scheme == "https" ? "443" : "80")) own.port.clear();
  return parsed->host == own;
}

}  // namespace sandkeep::http
