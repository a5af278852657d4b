#include "gateway/oauth/client.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/oauth/redirect_uri.h"

namespace sandkeep::oauth {
namespace {

namespace json = boost::json;

// 128 bits of the HMAC: a client_id stands in URLs.
constexpr std::size_t kSignatureBytes = 16;
constexpr std::size_t kNonceBytes = 8;

absl::Status Unknown() { return absl::NotFoundError("this client isn't registered here"); }

std::string Blob(const Client& client, std::string_view nonce) {
  json::object blob;
  blob["n"] = client.name;
  json::array uris;
  for (const std::string& uri : client.redirect_uris) uris.emplace_back(uri);
  blob["r"] = std::move(uris);
  blob["c"] = client.confidential;
  blob["t"] = client.registered_at;
  // Two that register the same at the same moment shall not share a secret.
  blob["x"] = absl::BytesToHexString(ToAbsl(nonce));
  return json::serialize(blob);
}

// What we signed ourselves.
Client FromBlob(std::string_view blob) {
  const json::object object = json::parse({blob.data(), blob.size()}).as_object();
  Client client;
  client.name = std::string(object.at("n").as_string());
  for (const json::value& uri : object.at("r").as_array()) {
    client.redirect_uris.emplace_back(uri.as_string());
  }
  client.confidential = object.at("c").as_bool();
  client.registered_at = object.at("t").to_number<std::int64_t>();
  return client;
}

}  // namespace

bool Client::AllowsRedirect(std::string_view uri) const {
  return std::any_of(
      redirect_uris.begin(), redirect_uris.end(),
      [uri](const std::string& registered) { return RedirectMatches(registered, uri); });
}

std::string ClientRegistry::Sign(std::string_view blob) const {
  return HmacSha256(secret_.Reveal(), StrCat("client id\n", blob)).substr(0, kSignatureBytes);
}

absl::StatusOr<Client> ClientRegistry::Register(Client client, Random& random) const {
  const std::string blob = Blob(client, random.Bytes(kNonceBytes));
  client.id = StrCat(absl::WebSafeBase64Escape(blob), ".", absl::WebSafeBase64Escape(Sign(blob)));
  if (client.id.size() > kMaxClientIdBytes) {
    return absl::InvalidArgumentError("too much metadata: fewer or shorter redirect URIs");
  }
  client.hash = Sha256(client.id);
  return client;
}

absl::StatusOr<Client> ClientRegistry::Find(std::string_view id) const {
  const std::size_t dot = id.find('.');
  if (id.size() > kMaxClientIdBytes || dot == std::string_view::npos) return Unknown();
  std::string blob;
  std::string signature;
  if (!absl::WebSafeBase64Unescape(ToAbsl(id.substr(0, dot)), &blob) ||
      !absl::WebSafeBase64Unescape(ToAbsl(id.substr(dot + 1)), &signature) ||
      !EqualInConstantTime(signature, Sign(blob))) {
    return Unknown();
  }
  Client client = FromBlob(blob);
  // Base64 has spellings that mean the same: the database must know one.
  client.id = StrCat(absl::WebSafeBase64Escape(blob), ".", absl::WebSafeBase64Escape(signature));
  if (client.id != id) return Unknown();
  client.hash = Sha256(client.id);
  return client;
}

Secret ClientRegistry::SecretOf(const Client& client) const {
  return Secret(absl::WebSafeBase64Escape(
      HmacSha256(secret_.Reveal(), StrCat("client secret\n", client.id))));
}

}  // namespace sandkeep::oauth
