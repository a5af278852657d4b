#include "gateway/oauth/metadata.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "common/strings.h"
#include "gateway/oauth/resource.h"

namespace sandkeep::oauth {
namespace {

namespace json = boost::json;

constexpr std::string_view kResourceMetadata = "/.well-known/oauth-protected-resource";
constexpr std::string_view kServerMetadata = "/.well-known/oauth-authorization-server";
constexpr std::string_view kOpenIdMetadata = "/.well-known/openid-configuration";

std::string PathOf(const std::string& resource, const std::string& origin) {
  return resource.substr(origin.size());
}

std::string ResourceDocument(std::string_view public_base) {
  json::object document;
  document["resource"] = ResourceOf(public_base);
  document["authorization_servers"] = json::array{json::value(OriginOf(public_base))};
  document["scopes_supported"] = json::array{"sandbox"};
  document["bearer_methods_supported"] = json::array{"header"};
  document["resource_name"] = "Sandkeep";
  return json::serialize(document);
}

std::string ServerDocument(std::string_view public_base) {
  const std::string issuer = OriginOf(public_base);
  const json::array methods = {"none", "client_secret_basic", "client_secret_post"};
  json::object document;
  document["issuer"] = issuer;
  document["authorization_endpoint"] = StrCat(issuer, "/authorize");
  document["token_endpoint"] = StrCat(issuer, "/token");
  document["registration_endpoint"] = StrCat(issuer, "/register");
  document["revocation_endpoint"] = StrCat(issuer, "/revoke");
  document["response_types_supported"] = json::array{"code"};
  document["response_modes_supported"] = json::array{"query"};
  document["grant_types_supported"] = {"authorization_code", "refresh_token"};
  document["token_endpoint_auth_methods_supported"] = methods;
  document["revocation_endpoint_auth_methods_supported"] = methods;
  document["code_challenge_methods_supported"] = json::array{"S256"};
  document["scopes_supported"] = {"sandbox", "offline_access"};
  document["authorization_response_iss_parameter_supported"] = true;
  return json::serialize(document);
}

}  // namespace

std::string ResourceMetadataUrl(std::string_view public_base) {
  const std::string origin = OriginOf(public_base);
  return StrCat(origin, kResourceMetadata, PathOf(ResourceOf(public_base), origin));
}

std::optional<std::string> MetadataAt(std::string_view path, std::string_view public_base) {
  if (path == kServerMetadata || path == kOpenIdMetadata) return ServerDocument(public_base);
  if (path.substr(0, kResourceMetadata.size()) != kResourceMetadata) return std::nullopt;
  std::string_view inserted = path.substr(kResourceMetadata.size());
  while (!inserted.empty() && inserted.back() == '/') inserted.remove_suffix(1);
  const std::string origin = OriginOf(public_base);
  if (inserted.empty() || inserted == PathOf(ResourceOf(public_base), origin)) {
    return ResourceDocument(public_base);
  }
  return std::nullopt;
}

}  // namespace sandkeep::oauth
