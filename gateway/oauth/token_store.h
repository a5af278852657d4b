// Codes, sign-ins and their tokens in the database. Everything secret stands there as its SHA-256;
// what is committed here is also told to the AccessTokens in memory.
//
// A refresh token is good once. Its successor is an HMAC of it, so that those who refresh at the
// same time with the same token are all given the same one, the newest of its sign-in, within
// kRefreshGrace of its use; a use after that means that somebody else has a copy, and ends the
// sign-in. So does a code that is redeemed twice.
//
// Calls block on the disk: never on an I/O thread. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/secret.h"
#include "common/sqlite.h"
#include "gateway/oauth/access_tokens.h"

namespace sandkeep::oauth {

// The secret of this authorization server; made at the first start.
absl::StatusOr<Secret> LoadServerSecret(Database& db, Random& random, const Clock& clock);

// What a person allowed.
struct Consent {
  std::string client;  // Client::hash
  std::string client_name;
  std::string access_key;  // The hash of the key.
  std::string redirect_uri;
  std::string challenge;
  std::string scope;
  std::string resource;
};

// What the client shows for a code.
struct Redemption {
  std::string code;
  std::string client;
  std::string redirect_uri;  // Empty: it didn't say.
  std::string verifier;
  bool resource_fits = true;
};

struct Issued {
  Secret access;
  Secret refresh;
  std::string scope;
};

class TokenStore {
 public:
  // All but `db` outlive it.
  TokenStore(Database db, Secret secret, AccessTokens& live, Random& random, const Clock& clock)
      : db_(std::move(db)),
        secret_(std::move(secret)),
        live_(live),
        random_(random),
        clock_(clock) {}

  // The access tokens of an earlier run, into memory.
  absl::Status Load();

  // A new code. NotFound: the key is gone meanwhile.
  absl::StatusOr<Secret> Consented(const Consent& consent);

  // PermissionDenied: the code, or the token, is not good for this client. FailedPrecondition: it
  // is for another resource.
  absl::StatusOr<Issued> Redeem(const Redemption& redemption);
  absl::StatusOr<Issued> Refresh(std::string_view token, std::string_view client,
                                 bool resource_fits);

  // Ends the sign-in that the token, of either kind, belongs to. Succeeds for tokens that nobody
  // knows; PermissionDenied: another client's.
  absl::Status Revoke(std::string_view token, std::string_view client);

 private:
  struct SignIn {
    std::int64_t id = 0;
    std::string access_key;
    std::string scope;
    std::string resource;
  };
  // A refresh token as the database has it.
  struct RefreshRow {
    SignIn sign_in;
    std::string client;
    std::int64_t expires_ms = 0;
    std::optional<std::int64_t> used_ms;
  };

  absl::StatusOr<Issued> RedeemInTransaction(const Redemption& redemption);
  absl::StatusOr<SignIn> BeginSignIn(Statement& code, const std::string& code_hash);
  absl::Status EndOldSignIns(const std::string& access_key);
  absl::Status EndReplayed(const std::string& code_hash);
  absl::StatusOr<std::optional<RefreshRow>> FindRefresh(std::string_view token);
  absl::StatusOr<Issued> RefreshInTransaction(std::string token, std::string_view client,
                                              bool resource_fits);
  Secret SuccessorOf(std::string_view token) const;
  absl::Status AddRefresh(std::int64_t sign_in, const Secret& token);
  absl::StatusOr<Secret> AddAccess(const SignIn& sign_in);
  absl::Status DropSpareAccess(std::int64_t sign_in);
  absl::Status EndSignIn(std::int64_t id);
  absl::Status Sweep();
  std::int64_t Now() const { return absl::ToUnixMillis(clock_.Now()); }

  // Runs `body` in a transaction that is committed even if it refuses: what it ended stays ended.
  template <typename Body>
  absl::StatusOr<Issued> Commit(Body body);

  Database db_;
  const Secret secret_;
  AccessTokens& live_;
  Random& random_;
  const Clock& clock_;
  std::int64_t swept_ms_ = 0;
  // Of the transaction that runs: told to `live_` once it is committed.
  std::vector<std::pair<std::string, AccessToken>> added_;
  std::vector<std::string> dropped_;
  std::vector<std::int64_t> ended_;
};

}  // namespace sandkeep::oauth
