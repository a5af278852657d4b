// Bearer tokens beside access keys, as the router needs to know them; the authorization server has
// them. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/keys/key_table.h"

namespace sandkeep::http {

class TokenBook {
 public:
  virtual ~TokenBook() = default;

  // Whose `token` is. nullopt: there is no such token, it is over, or it is for another server than
  // the one at `public_base`.
  virtual std::optional<KeyOwner> Find(std::string_view token, std::string_view public_base) = 0;

  // The URL that tells a client how to get one: the challenge names it.
  virtual std::string ChallengeMetadata(std::string_view public_base) const = 0;
};

}  // namespace sandkeep::http
