#include "gateway/oauth/client_auth.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "common/digest.h"
#include "common/strings.h"

namespace sandkeep::oauth {
namespace {

struct Credentials {
  std::string id;
  std::string secret;
};

absl::Status Refused() {
  return absl::UnauthenticatedError("this client isn't registered here, or its secret is wrong");
}

constexpr std::string_view kBasic = "basic ";

// Any other scheme is no client's: the official SDK sends the bearer token that its settings have
// for the endpoint to all other addresses, too.
bool IsBasic(const std::string& header) {
  return absl::StartsWithIgnoreCase(header, ToAbsl(kBasic));
}

// nullopt: not well-formed. Both halves are form-encoded.
std::optional<Credentials> BasicOf(const std::string& header) {
  std::string text;
  if (!absl::Base64Unescape(absl::StripAsciiWhitespace(header.substr(kBasic.size())), &text)) {
    return std::nullopt;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto halves =
      Form::Parse(StrCat("id=", text.substr(0, colon), "&secret=", text.substr(colon + 1)));
  if (!halves.ok()) return std::nullopt;
  return Credentials{halves->Get("id"), halves->Get("secret")};
}

}  // namespace

absl::StatusOr<Client> Authenticate(const http::Request& request, const Form& form,
                                    const ClientRegistry& registry) {
  Credentials given{form.Get("client_id"), form.Get("client_secret")};
  const std::string* header = request.Find("authorization");
  if (header != nullptr && IsBasic(*header)) {
    const std::optional<Credentials> basic = BasicOf(*header);
    if (!basic.has_value() || (!given.id.empty() && given.id != basic->id)) return Refused();
    given = *basic;
  }
  absl::StatusOr<Client> client = registry.Find(given.id);
  if (!client.ok()) return Refused();
  if (client->confidential &&
      !EqualInConstantTime(given.secret, registry.SecretOf(*client).Reveal())) {
    return Refused();
  }
  return client;
}

}  // namespace sandkeep::oauth
