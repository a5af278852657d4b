#include "gateway/oauth/access_tokens.h"

#include <utility>

#include "common/digest.h"
#include "gateway/oauth/metadata.h"
#include "gateway/oauth/resource.h"

namespace sandkeep::oauth {

std::optional<AccessToken> AccessTokens::Look(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find(hash);
  if (found == tokens_.end()) return std::nullopt;
  return found->second;
}

std::optional<KeyOwner> AccessTokens::Find(std::string_view token, std::string_view public_base) {
  // Access keys come here, too, and far more often.
  if (token.substr(0, kAccessTokenPrefix.size()) != kAccessTokenPrefix) return std::nullopt;
  const std::optional<AccessToken> found = Look(Sha256(token));
  if (!found.has_value() || found->expires <= clock_.Now() ||
      found->resource != ResourceOf(public_base)) {
    return std::nullopt;
  }
  return keys_.FindByHash(found->access_key);
}

std::string AccessTokens::ChallengeMetadata(std::string_view public_base) const {
  return ResourceMetadataUrl(public_base);
}

void AccessTokens::Add(std::string hash, AccessToken token) {
  const std::lock_guard lock(mutex_);
  tokens_.insert_or_assign(std::move(hash), std::move(token));
}

void AccessTokens::Remove(const std::string& hash) {
  const std::lock_guard lock(mutex_);
  tokens_.erase(hash);
}

void AccessTokens::EndSignIn(std::int64_t sign_in) {
  const std::lock_guard lock(mutex_);
  absl::erase_if(tokens_, [sign_in](const auto& entry) { return entry.second.sign_in == sign_in; });
}

void AccessTokens::DropExpired() {
  const absl::Time now = clock_.Now();
  const std::lock_guard lock(mutex_);
  absl::erase_if(tokens_, [now](const auto& entry) { return entry.second.expires <= now; });
}

}  // namespace sandkeep::oauth
