#include "gateway/oauth/authorize.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/run_on.h"
#include "common/strings.h"
#include "gateway/downloads/percent.h"
#include "gateway/keys/access_key.h"
#include "gateway/oauth/browser_cookie.h"
#include "gateway/oauth/pkce.h"
#include "gateway/oauth/redirect_uri.h"
#include "gateway/oauth/resource.h"
#include "gateway/pages/page.h"
#include "gateway/pages/sign_in.h"

namespace sandkeep::oauth {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kStartAgain =
    "Go back to the app and start the sign-in again. If it stays like this, remove the server from "
    "the app and add it anew.";

http::Response Page(int status, std::string html) {
  http::Response response = http::TextResponse(status, "text/html; charset=utf-8", std::move(html));
  response.headers.push_back({"Content-Security-Policy", PagePolicy()});
  // Without it the browser would send `Origin: null` with our own form.
  response.headers.push_back({"Referrer-Policy", "same-origin"});
  return response;
}

http::Response Message(int status, std::string_view title, std::string_view text) {
  return Page(status, MessagePage(title, text));
}

std::string_view QueryOf(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

// Back to the client: `iss` stands in every answer, errors too (RFC 9207).
std::string Back(const AuthorizationRequest& asked, std::string_view name, std::string_view value,
                 std::string_view description = "") {
  std::string url = asked.redirect_uri;
  StrAppend(&url, url.find('?') == std::string::npos ? "?" : "&", name, "=",
            PercentEncode(value, false));
  if (!description.empty()) {
    StrAppend(&url, "&error_description=", PercentEncode(description, false));
  }
  if (!asked.state.empty()) StrAppend(&url, "&state=", PercentEncode(asked.state, false));
  StrAppend(&url, "&iss=", PercentEncode(asked.issuer, false));
  return url;
}

// Scopes that we don't know are left out; `sandbox` is what a token is for.
std::string GrantedScope(const std::string& asked) {
  for (const std::string_view scope : Split(asked, ' ')) {
    if (scope == "offline_access") return "sandbox offline_access";
  }
  return "sandbox";
}

std::vector<std::string> ScopesOf(const std::string& scope) {
  std::vector<std::string> scopes;
  for (const std::string_view part : Split(scope, ' ')) scopes.emplace_back(part);
  return scopes;
}

}  // namespace

Authorize::Authorize(Parts parts, Secret secret)
    : parts_(parts),
      sealer_(std::move(secret)),
      wrong_keys_(kWrongKeysAtOnce, kWrongKeysPerSecond, parts.clock) {}

Authorize::Fault Authorize::FaultOf(const Form& form, const http::Request& request) const {
  const std::string& response_type = form.Get("response_type");
  if (response_type.empty()) return {"invalid_request", "response_type is missing"};
  if (response_type != "code") {
    return {"unsupported_response_type", "the only response_type is code"};
  }
  if (form.Get("code_challenge").empty()) {
    return {"invalid_request", "code_challenge is missing: PKCE is required"};
  }
  if (form.Get("code_challenge_method") != "S256") {
    return {"invalid_request", "the only code_challenge_method is S256"};
  }
  if (!IsChallenge(form.Get("code_challenge"))) {
    return {"invalid_request", "code_challenge must be the 43 characters of a SHA-256"};
  }
  if (!MeansOurResource(form.All("resource"), request.public_base)) {
    return {"invalid_target", StrCat("the only resource is ", ResourceOf(request.public_base))};
  }
  return {};
}

http::Response Authorize::Show(const http::Request& request) {
  const absl::StatusOr<Form> form = Form::Parse(QueryOf(request.target));
  if (!form.ok()) {
    return Message(400, "This sign-in link is broken",
                   StrCat("The app sent ", ToStd(form.status().message()), ". ", kStartAgain));
  }
  const absl::StatusOr<Client> client = parts_.registry.Find(form->Get("client_id"));
  if (!client.ok()) {
    return Message(
        400, "This app isn’t known here",
        StrCat("It may have registered before this server was set up anew. ", kStartAgain));
  }
  AuthorizationRequest asked{.client_id = client->id,
                             .redirect_uri = form->Get("redirect_uri"),
                             .state = form->Get("state"),
                             .challenge = form->Get("code_challenge"),
                             .scope = GrantedScope(form->Get("scope")),
                             .resource = ResourceOf(request.public_base),
                             .issuer = OriginOf(request.public_base)};
  if (asked.redirect_uri.empty() && client->redirect_uris.size() == 1) {
    asked.redirect_uri = client->redirect_uris.front();
  }
  if (!client->AllowsRedirect(asked.redirect_uri) || asked.state.size() > kMaxStateBytes) {
    return Message(400, "This sign-in link is broken",
                   StrCat("It would send your browser to an address that the app hasn’t "
                          "registered. ",
                          kStartAgain));
  }
  const Fault fault = FaultOf(*form, request);
  if (fault.error.empty()) return SignIn(request, asked, *client, 200, "");
  return Page(400, MessagePage("The app asked in a way that doesn’t work here",
                               StrCat(fault.error, ": ", fault.description, "."),
                               Back(asked, "error", fault.error, fault.description),
                               StrCat("Back to ", RedirectTarget(asked.redirect_uri))));
}

http::Response Authorize::SignIn(const http::Request& request, const AuthorizationRequest& asked,
                                 const Client& client, int status, std::string_view problem) {
  const std::string cookie = BrowserCookie::ReadOrMake(request, parts_.random);
  const SealedRequest sealed =
      sealer_.Seal(asked, cookie, parts_.clock.Now() + absl::FromChrono(kSignInLifetime));
  http::Response response =
      Page(status, SignInPage({.client_name = client.name,
                               .redirect_target = RedirectTarget(asked.redirect_uri),
                               .local_client = IsLocalRedirect(asked.redirect_uri),
                               .scopes = ScopesOf(asked.scope),
                               .request = sealed.request,
                               .token = sealed.token,
                               .problem = std::string(problem)}));
  response.headers.push_back(BrowserCookie::Header(request, cookie));
  return response;
}

http::Response Authorize::WrongKey(const http::Request& request, const AuthorizationRequest& asked,
                                   const Client& client) {
  if (wrong_keys_.Take(request.peer)) {
    return SignIn(request, asked, client, 403, "This access key isn’t known here.");
  }
  http::Response response =
      SignIn(request, asked, client, 429,
             "This access key isn’t known here, and too many wrong ones came from your address.");
  response.headers.push_back({"Retry-After", "12"});
  return response;
}

asio::awaitable<http::Response> Authorize::Decide(const http::Request& request) {
  const absl::StatusOr<Form> form = Form::Parse(request.body);
  absl::StatusOr<AuthorizationRequest> asked = absl::InvalidArgumentError("no form");
  if (form.ok()) {
    asked = sealer_.Open({form->Get("request"), form->Get("token")}, BrowserCookie::Read(request),
                         parts_.clock.Now());
  }
  absl::StatusOr<Client> client = absl::InvalidArgumentError("no form");
  if (asked.ok()) client = parts_.registry.Find(asked->client_id);
  if (!client.ok()) {
    co_return Message(400, "This form is over",
                      StrCat("It is too old, or wasn’t made for this browser. ", kStartAgain));
  }
  if (form->Get("decision") != "allow") {
    co_return Page(200, ReturnPage(Back(*asked, "error", "access_denied"), client->name, false));
  }
  const std::string_view typed = form->Get("key");
  const std::string key(ToStd(absl::StripAsciiWhitespace(ToAbsl(typed))));
  const std::optional<KeyOwner> owner = parts_.keys.Find(key);
  if (!owner.has_value()) co_return WrongKey(request, *asked, *client);
  auto commit = [this, consent = Consent{.client = client->hash,
                                         .client_name = client->name,
                                         .access_key = HashAccessKey(key),
                                         .redirect_uri = asked->redirect_uri,
                                         .challenge = asked->challenge,
                                         .scope = asked->scope,
                                         .resource = asked->resource}] {
    return parts_.store.Consented(consent);
  };
  const absl::StatusOr<Secret> code =
      co_await RunOn(parts_.store_thread.get_executor(), std::move(commit));
  if (absl::IsNotFound(code.status())) co_return WrongKey(request, *asked, *client);
  if (!code.ok()) {
    Log(Severity::kError, "sign_in.failed", {{"why", code.status()}});
    co_return Message(503, "Signing in doesn’t work at the moment",
                      "The server can’t write to its disk. Try again soon.");
  }
  Log(Severity::kInfo, "sign_in.allowed",
      {{"principal", owner->principal.text()}, {"client", client->name}});
  co_return Page(200, ReturnPage(Back(*asked, "code", code->Reveal()), client->name, true));
}

}  // namespace sandkeep::oauth
