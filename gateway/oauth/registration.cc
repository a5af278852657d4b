#include "gateway/oauth/registration.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/strict_json.h"
#include "gateway/oauth/redirect_uri.h"

namespace sandkeep::oauth {
namespace {

namespace json = boost::json;

constexpr std::string_view kMetadata = "invalid_client_metadata";
constexpr std::string_view kRedirect = "invalid_redirect_uri";

Registration Refused(std::string_view error, std::string_view description) {
  return {.client = {}, .refusal = {std::string(error), std::string(description)}};
}

// nullopt: absent. null is as good as absent.
const json::value* Find(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Absent, or a list that has `wanted`.
bool AllowsList(const json::object& object, std::string_view name, std::string_view wanted) {
  const json::value* value = Find(object, name);
  if (value == nullptr) return true;
  if (!value->is_array()) return false;
  for (const json::value& entry : value->get_array()) {
    if (entry.is_string() && entry.get_string() == json::string_view(wanted.data(), wanted.size()))
      return true;
  }
  return false;
}

std::optional<Refusal> ReadRedirectUris(const json::object& object, Client* client) {
  const json::value* uris = Find(object, "redirect_uris");
  if (uris == nullptr || !uris->is_array() || uris->get_array().empty() ||
      uris->get_array().size() > kMaxRedirectUris) {
    return Refusal{std::string(kRedirect),
                   StrCat("redirect_uris must be a list of 1 to ", kMaxRedirectUris, " URIs")};
  }
  for (const json::value& uri : uris->get_array()) {
    if (!uri.is_string()) return Refusal{std::string(kRedirect), "a redirect URI isn't a string"};
    std::string text(uri.get_string());
    if (const absl::Status status = CheckRedirectUri(text); !status.ok()) {
      return Refusal{std::string(kRedirect), std::string(ToStd(status.message()))};
    }
    client->redirect_uris.push_back(std::move(text));
  }
  return std::nullopt;
}

std::optional<Refusal> ReadAuthMethod(const json::object& object, Client* client) {
  const json::value* method = Find(object, "token_endpoint_auth_method");
  // RFC 7591's default.
  client->confidential = true;
  if (method == nullptr) return std::nullopt;
  const std::string name = method->is_string() ? std::string(method->get_string()) : "";
  client->confidential = name != "none";
  if (name == "none" || name == "client_secret_basic" || name == "client_secret_post") {
    return std::nullopt;
  }
  return Refusal{
      std::string(kMetadata),
      "token_endpoint_auth_method must be none, client_secret_basic or client_secret_post"};
}

}  // namespace

Registration ReadRegistration(std::string_view body) {
  const absl::StatusOr<json::value> parsed = mcp::ParseStrictJson(body);
  if (!parsed.ok() || !parsed->is_object()) return Refused(kMetadata, "expected a JSON object");
  const json::object& object = parsed->get_object();
  Registration registration;
  Client& client = registration.client;
  if (const auto refusal = ReadRedirectUris(object, &client)) return {{}, *refusal};
  if (const auto refusal = ReadAuthMethod(object, &client)) return {{}, *refusal};
  if (!AllowsList(object, "grant_types", "authorization_code")) {
    return Refused(kMetadata, "grant_types must have authorization_code");
  }
  if (!AllowsList(object, "response_types", "code")) {
    return Refused(kMetadata, "response_types must have code");
  }
  if (const json::value* name = Find(object, "client_name")) {
    if (!name->is_string()) return Refused(kMetadata, "client_name must be a string");
    client.name = std::string(Utf8Head(std::string(name->get_string()), kMaxClientNameBytes));
  }
  return registration;
}

std::string RegistrationAnswer(const Client& client, const Secret& secret) {
  json::object answer;
  answer["client_id"] = client.id;
  answer["client_id_issued_at"] = client.registered_at;
  if (!secret.empty()) {
    answer["client_secret"] = json::string_view(secret.Reveal().data(), secret.Reveal().size());
    answer["client_secret_expires_at"] = 0;
  }
  if (!client.name.empty()) answer["client_name"] = client.name;
  json::array uris;
  for (const std::string& uri : client.redirect_uris) uris.emplace_back(uri);
  answer["redirect_uris"] = std::move(uris);
  answer["grant_types"] = {"authorization_code", "refresh_token"};
  answer["response_types"] = json::array{"code"};
  answer["token_endpoint_auth_method"] = client.confidential ? "client_secret_basic" : "none";
  answer["scope"] = "sandbox offline_access";
  return json::serialize(answer);
}

}  // namespace sandkeep::oauth
