// A client, and its client_id: a signed blob of what it registered, so that registering costs no
// row and can't fill anything. Whoever holds the secret of this server can make one; a client_id of
// another server is nobody's. A confidential client's secret follows from its client_id.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "common/secret.h"

namespace sandkeep::oauth {

struct Client {
  std::string name;  // What it calls itself; may be empty.
  std::vector<std::string> redirect_uris;
  bool confidential = false;
  std::int64_t registered_at = 0;  // Seconds since 1970.

  // Filled in by the registry.
  std::string id;
  std::string hash;  // SHA-256 of the id: what the database knows it by.

  // Whether the browser may be sent to `uri`.
  bool AllowsRedirect(std::string_view uri) const;
};

class ClientRegistry {
 public:
  explicit ClientRegistry(Secret secret) : secret_(std::move(secret)) {}

  // Fills in `id` and `hash`. InvalidArgument: its id would be longer than kMaxClientIdBytes.
  absl::StatusOr<Client> Register(Client client, Random& random) const;

  // NotFound: it isn't a client_id of ours.
  absl::StatusOr<Client> Find(std::string_view id) const;

  Secret SecretOf(const Client& client) const;

 private:
  std::string Sign(std::string_view blob) const;

  const Secret secret_;
};

}  // namespace sandkeep::oauth
