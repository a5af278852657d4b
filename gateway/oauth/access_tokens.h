// The access tokens that are good now, in memory by their hash, as access keys are: a request
// touches no disk. A token is good while its key is, which AccessKeys knows within a second of its
// removal. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "gateway/http/token_book.h"
#include "gateway/keys/access_keys.h"

namespace sandkeep::oauth {

inline constexpr std::string_view kAccessTokenPrefix = "at-";

struct AccessToken {
  std::int64_t sign_in = 0;
  std::string access_key;  // The hash of the key that was signed in with.
  std::string resource;    // Its audience.
  absl::Time expires;
};

class AccessTokens : public http::TokenBook {
 public:
  // Both outlive it.
  AccessTokens(const AccessKeys& keys, const Clock& clock) : keys_(keys), clock_(clock) {}

  std::optional<KeyOwner> Find(std::string_view token, std::string_view public_base) override;
  std::string ChallengeMetadata(std::string_view public_base) const override;

  void Add(std::string hash, AccessToken token);
  void Remove(const std::string& hash);
  void EndSignIn(std::int64_t sign_in);
  void DropExpired();

 private:
  std::optional<AccessToken> Look(const std::string& hash) const;

  const AccessKeys& keys_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // Guards what stands below it.
  absl::flat_hash_map<std::string, AccessToken> tokens_;
};

}  // namespace sandkeep::oauth
