#include "gateway/oauth/sealed_request.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/strings.h"

namespace sandkeep::oauth {
namespace {

namespace json = boost::json;

std::string TextOf(const json::object& object, std::string_view name) {
  return std::string(object.at({name.data(), name.size()}).as_string());
}

}  // namespace

std::string RequestSealer::Mac(std::string_view request, std::string_view cookie) const {
  // No cookie of ours has a line end in it.
  return absl::WebSafeBase64Escape(
      HmacSha256(secret_.Reveal(), StrCat("sign-in form\n", cookie, "\n", request)));
}

SealedRequest RequestSealer::Seal(const AuthorizationRequest& request, std::string_view cookie,
                                  absl::Time expires) const {
  json::object object;
  object["client"] = request.client_id;
  object["redirect"] = request.redirect_uri;
  object["state"] = request.state;
  object["challenge"] = request.challenge;
  object["scope"] = request.scope;
  object["resource"] = request.resource;
  object["issuer"] = request.issuer;
  object["expires"] = absl::ToUnixMillis(expires);
  SealedRequest sealed{.request = absl::WebSafeBase64Escape(json::serialize(object)), .token = ""};
  sealed.token = Mac(sealed.request, cookie);
  return sealed;
}

absl::StatusOr<AuthorizationRequest> RequestSealer::Open(const SealedRequest& sealed,
                                                         std::string_view cookie,
                                                         absl::Time now) const {
  std::string text;
  if (cookie.empty() || !EqualInConstantTime(sealed.token, Mac(sealed.request, cookie)) ||
      !absl::WebSafeBase64Unescape(sealed.request, &text)) {
    return absl::InvalidArgumentError("the form isn't ours");
  }
  // We wrote it.
  const json::object object = json::parse(text).as_object();
  if (absl::FromUnixMillis(object.at("expires").to_number<std::int64_t>()) <= now) {
    return absl::InvalidArgumentError("the form is too old");
  }
  return AuthorizationRequest{.client_id = TextOf(object, "client"),
                              .redirect_uri = TextOf(object, "redirect"),
                              .state = TextOf(object, "state"),
                              .challenge = TextOf(object, "challenge"),
                              .scope = TextOf(object, "scope"),
                              .resource = TextOf(object, "resource"),
                              .issuer = TextOf(object, "issuer")};
}

}  // namespace sandkeep::oauth
