// Dynamic client registration (RFC 7591): what a client says of itself, judged, and the answer. Any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/oauth/client.h"

namespace sandkeep::oauth {

// What is wrong, by OAuth's own name for it.
struct Refusal {
  std::string error;
  std::string description;
};

struct Registration {
  Client client;  // Without id.
  Refusal refusal;
  bool ok() const { return refusal.error.empty(); }
};

// `body` is untrusted JSON, of at most kMaxFormBytes.
Registration ReadRegistration(std::string_view body);

// `secret` is empty for a public client.
std::string RegistrationAnswer(const Client& client, const Secret& secret);

}  // namespace sandkeep::oauth
