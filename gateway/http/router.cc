#include "gateway/http/router.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

constexpr std::string_view kMcpMethods = "POST, OPTIONS";

Admission Answer(Response response) { return {.answer = std::move(response)}; }

Response NotFound() { return ErrorResponse(404, "not_found", "there is nothing at this address"); }

Response MethodNotAllowed(std::string_view allowed) {
  Response response =
      ErrorResponse(405, "method_not_allowed", StrCat("this address takes ", allowed));
  response.headers.push_back({"Allow", std::string(allowed)});
  return response;
}

Response Preflight(std::string_view allowed) {
  return {.status = 204,
          .headers = {{"Allow", std::string(allowed)},
                      {"Access-Control-Allow-Methods", "POST, GET, DELETE, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, "
                       "Mcp-Session-Id, Mcp-Method, Mcp-Name"},
                      {"Access-Control-Max-Age", "7200"}},
          .body = ""};
}

// Origin-form, or absolute-form, whose authority then must be the Host's. Empty: neither.
std::string_view PathOf(std::string_view target, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!absl::StartsWithIgnoreCase(ToAbsl(target), ToAbsl(scheme))) continue;
    target.remove_prefix(scheme.size());
    const std::size_t slash = target.find('/');
    if (slash == std::string_view::npos ||
        !absl::EqualsIgnoreCase(ToAbsl(target.substr(0, slash)), ToAbsl(host))) {
      return {};
    }
    target.remove_prefix(slash);
  }
  return target.empty() || target.front() != '/' ? std::string_view()
                                                 : target.substr(0, target.find('?'));
}

std::string_view WithoutBase(std::string_view path, std::string_view base) {
  const bool below = !base.empty() && path.substr(0, base.size()) == base &&
                     (path.size() == base.size() || path[base.size()] == '/');
  return below ? path.substr(base.size()) : path;
}

// Empty: no bearer token, or more than one could be.
std::string_view BearerOf(const Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string* value = request.Find("authorization");
  if (value == nullptr || !absl::StartsWithIgnoreCase(*value, ToAbsl(kScheme))) return {};
  const std::string_view token =
      ToStd(absl::StripAsciiWhitespace(ToAbsl(std::string_view(*value).substr(kScheme.size()))));
  return token.size() <= kMaxBearerBytes ? token : std::string_view();
}

// The methods of what the authorization server has at `path`; empty: it has nothing there.
std::string_view OauthMethods(std::string_view path) {
  if (path == "/authorize") return "GET, POST, OPTIONS";
  if (path == "/token" || path == "/register" || path == "/revoke") return "POST, OPTIONS";
  if (absl::StartsWith(ToAbsl(path), "/.well-known/")) return "GET, HEAD, OPTIONS";
  return {};
}

bool Allows(std::string_view methods, std::string_view method) {
  for (const std::string_view part : Split(methods, ',')) {
    if (ToStd(absl::StripAsciiWhitespace(ToAbsl(part))) == method) return true;
  }
  return false;
}

constexpr std::string_view kUploadMethods = "GET, HEAD, PUT, POST";

bool IsRead(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

}  // namespace

std::optional<Response> Router::CheckHostAndOrigin(Request& request) const {
  const std::string* host_header = request.Find("host");
  if (host_header == nullptr) {
    return ErrorResponse(400, "invalid_request", "the Host header is missing");
  }
  const std::optional<HostPort> host = HostPort::Parse(*host_header);
  if (!host.has_value() || !policy_.AllowsHost(*host)) {
    return ErrorResponse(403, "forbidden_host",
                         "this server doesn't go by that name; its operator adds names with "
                         "ALLOWED_HOSTS or MCP_PUBLIC_BASE");
  }
  const std::string* origin = request.Find("origin");
  if (origin != nullptr && !policy_.AllowsOrigin(*origin, *host)) {
    return ErrorResponse(403, "forbidden_origin",
                         "pages of that origin may not call this server; its operator adds "
                         "origins with ALLOWED_ORIGINS");
  }
  if (origin != nullptr) request.origin = *origin;
  request.public_base = policy_.public_base().empty()
                            ? StrCat(request.secure ? "https://" : "http://", *host_header)
                            : policy_.public_base();
  request.path = WithoutBase(PathOf(request.target, *host_header), policy_.base_path());
  return std::nullopt;
}

std::optional<Response> Router::CheckPlace(const Request& request) const {
  if (policy_.download_base().empty()) return std::nullopt;
  const std::optional<HostPort> host = HostPort::Parse(*request.Find("host"));
  const bool here = host.has_value() && policy_.IsForDownloads(*host);
  const bool download = absl::StartsWith(request.path, "/dl/");
  if (here == download) return std::nullopt;
  if (here) return NotFound();
  Response moved{.status = 307, .headers = {}, .body = ""};
  // With its query: it says whether a folder's archive is meant.
  const std::size_t query = std::min(request.target.find('?'), request.target.size());
  moved.headers.push_back({"Location", StrCat(policy_.download_base(), request.path,
                                              std::string_view(request.target).substr(query))});
  moved.headers.push_back({"Cache-Control", "no-store"});
  return moved;
}

Admission Router::Admit(Request& request) {
  const std::string* forwarded = request.Find("x-forwarded-for");
  if (parts_.proxies != nullptr && forwarded != nullptr) {
    request.peer = parts_.proxies->ClientOf(request.peer, *forwarded);
  }
  std::optional<Response> refused = CheckHostAndOrigin(request);
  if (!refused.has_value()) refused = CheckPlace(request);
  if (refused.has_value()) return Answer(*std::move(refused));
  if (request.path == "/mcp" || request.path == "/mcp/") return AdmitToMcp(request);
  if (absl::StartsWith(request.path, "/dl/")) return AdmitToDownloads(request);
  if (parts_.uploads != nullptr && absl::StartsWith(request.path, "/up/")) {
    if (!Allows(kUploadMethods, request.method)) return Answer(MethodNotAllowed(kUploadMethods));
    return {.answer = std::nullopt, .handler = parts_.uploads};
  }
  const std::string_view oauth_methods = OauthMethods(request.path);
  if (parts_.oauth != nullptr && !oauth_methods.empty()) {
    return AdmitToOauth(request, oauth_methods);
  }
  if (request.path == "/healthz") {
    return Answer(IsRead(request) ? TextResponse(200, "text/plain; charset=utf-8", "ok\n")
                                  : MethodNotAllowed("GET, HEAD"));
  }
  return Answer(NotFound());
}

Admission Router::AdmitToMcp(Request& request) {
  if (request.method == "OPTIONS") return Answer(Preflight(kMcpMethods));
  request.caller = CallerOf(request);
  if (!request.caller.has_value()) return Answer(Challenge(request));
  if (request.method != "POST") return Answer(MethodNotAllowed(kMcpMethods));
  if (!parts_.rate.Allows(request.caller->principal.text())) {
    Response response = ErrorResponse(429, "too_many_requests", "slow down a little");
    response.headers.push_back({"Retry-After", "1"});
    return Answer(std::move(response));
  }
  return {.answer = std::nullopt, .handler = &parts_.mcp};
}

std::optional<KeyOwner> Router::CallerOf(const Request& request) const {
  const std::string_view bearer = BearerOf(request);
  if (parts_.tokens != nullptr) {
    std::optional<KeyOwner> owner = parts_.tokens->Find(bearer, request.public_base);
    if (owner.has_value()) return owner;
  }
  return parts_.keys.Find(bearer);
}

// RFC 6750: a request without any credentials gets no error code. RFC 9728: where to begin.
Response Router::Challenge(const Request& request) const {
  const bool had_key = request.Find("authorization") != nullptr;
  Response response = ErrorResponse(
      401, had_key ? "invalid_token" : "unauthorized",
      had_key ? "this access key or token is not known here, or is over: sign in again"
              : "sign in, or send an access key: `Authorization: Bearer sk-…`");
  std::string challenge = "Bearer realm=\"sandkeep\"";
  if (had_key) {
    challenge +=
        ", error=\"invalid_token\", error_description=\"unknown, over, or for another "
        "server\"";
  }
  if (parts_.tokens != nullptr) {
    StrAppend(&challenge, ", resource_metadata=\"",
              parts_.tokens->ChallengeMetadata(request.public_base), "\", scope=\"sandbox\"");
  }
  response.headers.push_back({"WWW-Authenticate", std::move(challenge)});
  return response;
}

Admission Router::AdmitToOauth(const Request& request, std::string_view methods) {
  if (request.method == "OPTIONS") return Answer(Preflight(methods));
  if (!Allows(methods, request.method)) return Answer(MethodNotAllowed(methods));
  if (request.method == "POST") {
    const std::string* length = request.Find("content-length");
    std::size_t bytes = 0;
    if (length == nullptr) {
      return Answer(ErrorResponse(411, "invalid_request", "a form needs its Content-Length"));
    }
    if (!absl::SimpleAtoi(*length, &bytes) || bytes > kMaxFormBytes) {
      return Answer(ErrorResponse(413, "invalid_request", "the form is too large"));
    }
  }
  return {.answer = std::nullopt, .handler = parts_.oauth};
}

Admission Router::AdmitToDownloads(const Request& request) {
  if (!IsRead(request)) return Answer(MethodNotAllowed("GET, HEAD"));
  return {.answer = std::nullopt, .handler = &parts_.downloads};
}

}  // namespace sandkeep::http
