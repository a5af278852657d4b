#include "gateway/oauth/token_store.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/oauth/pkce.h"

namespace sandkeep::oauth {
namespace {

constexpr std::size_t kSecretBytes = 32;

std::int64_t Ms(std::chrono::milliseconds duration) { return duration.count(); }

Secret Mint(std::string_view prefix, Random& random) {
  return Secret(StrCat(prefix, absl::WebSafeBase64Escape(random.Bytes(kSecretBytes))));
}

absl::Status NotGood() {
  return absl::PermissionDeniedError("it is wrong, over, used already, or another client's");
}

absl::Status OtherResource() {
  return absl::FailedPreconditionError("this sign-in is for another resource");
}

}  // namespace

absl::StatusOr<Secret> LoadServerSecret(Database& db, Random& random, const Clock& clock) {
  Secret secret;
  RETURN_IF_ERROR(db.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement read,
                     db.Prepare("SELECT secret FROM oauth_secrets ORDER BY id DESC LIMIT 1"));
    ASSIGN_OR_RETURN(const bool found, read.Step());
    if (found) {
      secret = Secret(read.Text(0));
      return absl::OkStatus();
    }
    secret = Secret(random.Bytes(kSecretBytes));
    ASSIGN_OR_RETURN(Statement insert,
                     db.Prepare("INSERT INTO oauth_secrets (secret, created_ms) VALUES (?1, ?2)"));
    return insert.BindBlob(1, secret.Reveal()).Bind(2, absl::ToUnixMillis(clock.Now())).Run();
  }));
  return secret;
}

absl::Status TokenStore::Load() {
  RETURN_IF_ERROR(Sweep());
  ASSIGN_OR_RETURN(Statement read,
                   db_.Prepare("SELECT access_tokens.hash, sign_in, access_key, resource, "
                               "expires_ms FROM access_tokens JOIN sign_ins ON sign_ins.id = "
                               "access_tokens.sign_in"));
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    live_.Add(read.Text(0), {.sign_in = read.Int(1),
                             .access_key = read.Text(2),
                             .resource = read.Text(3),
                             .expires = absl::FromUnixMillis(read.Int(4))});
  }
}

absl::StatusOr<Secret> TokenStore::Consented(const Consent& consent) {
  Secret code = Mint("", random_);
  RETURN_IF_ERROR(db_.Transact([&]() -> absl::Status {
    ASSIGN_OR_RETURN(Statement key, db_.Prepare("SELECT 1 FROM access_keys WHERE hash = ?1"));
    ASSIGN_OR_RETURN(const bool there, key.BindBlob(1, consent.access_key).Step());
    if (!there) return absl::NotFoundError("the key is gone");
    ASSIGN_OR_RETURN(Statement client,
                     db_.Prepare("INSERT INTO oauth_clients (id, name, redirect_target, "
                                 "first_consent_ms) VALUES (?1, ?2, ?3, ?4) "
                                 "ON CONFLICT DO NOTHING"));
    RETURN_IF_ERROR(client.BindBlob(1, consent.client)
                        .BindText(2, consent.client_name)
                        .BindText(3, consent.redirect_uri)
                        .Bind(4, Now())
                        .Run());
    ASSIGN_OR_RETURN(Statement insert,
                     db_.Prepare("INSERT INTO oauth_codes (hash, client, access_key, redirect_uri, "
                                 "challenge, scope, resource, expires_ms) "
                                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    return insert.BindBlob(1, Sha256(code.Reveal()))
        .BindBlob(2, consent.client)
        .BindBlob(3, consent.access_key)
        .BindText(4, consent.redirect_uri)
        .BindText(5, consent.challenge)
        .BindText(6, consent.scope)
        .BindText(7, consent.resource)
        .Bind(8, Now() + Ms(kCodeLifetime))
        .Run();
  }));
  return code;
}

template <typename Body>
absl::StatusOr<Issued> TokenStore::Commit(Body body) {
  added_.clear();
  dropped_.clear();
  ended_.clear();
  absl::StatusOr<Issued> issued = NotGood();
  RETURN_IF_ERROR(db_.Transact([&]() -> absl::Status {
    issued = body();
    const bool judged = issued.ok() || absl::IsPermissionDenied(issued.status()) ||
                        absl::IsFailedPrecondition(issued.status());
    return judged ? absl::OkStatus() : issued.status();
  }));
  for (auto& [hash, token] : added_) live_.Add(std::move(hash), std::move(token));
  for (const std::string& hash : dropped_) live_.Remove(hash);
  for (const std::int64_t id : ended_) live_.EndSignIn(id);
  if (Now() - swept_ms_ >= Ms(kTokenSweepInterval)) {
    if (const absl::Status swept = Sweep(); !swept.ok()) {
      Log(Severity::kWarning, "sign_in.sweep", {{"why", swept}});
    }
  }
  return issued;
}

absl::StatusOr<Issued> TokenStore::Redeem(const Redemption& redemption) {
  return Commit([&] { return RedeemInTransaction(redemption); });
}

absl::StatusOr<Issued> TokenStore::RedeemInTransaction(const Redemption& redemption) {
  const std::string hash = Sha256(redemption.code);
  ASSIGN_OR_RETURN(
      Statement code,
      db_.Prepare("SELECT client, redirect_uri, challenge, oauth_codes.expires_ms, access_key, "
                  "scope, resource, access_keys.expires_ms FROM oauth_codes JOIN access_keys ON "
                  "access_keys.hash = access_key WHERE oauth_codes.hash = ?1"));
  ASSIGN_OR_RETURN(const bool found, code.BindBlob(1, hash).Step());
  if (!found) {
    RETURN_IF_ERROR(EndReplayed(hash));
    return NotGood();
  }
  if (code.Text(0) != redemption.client) return NotGood();
  // Whatever comes of it, it was the right client's, and its only try.
  ASSIGN_OR_RETURN(Statement drop, db_.Prepare("DELETE FROM oauth_codes WHERE hash = ?1"));
  const bool key_is_good = code.IsNull(7) || code.Int(7) > Now();
  const bool good = code.Int(3) > Now() && key_is_good &&
                    (redemption.redirect_uri.empty() || redemption.redirect_uri == code.Text(1)) &&
                    Proves(redemption.verifier, code.Text(2));
  absl::StatusOr<SignIn> sign_in = NotGood();
  if (good && !redemption.resource_fits) sign_in = OtherResource();
  if (good && redemption.resource_fits) sign_in = BeginSignIn(code, hash);
  RETURN_IF_ERROR(drop.BindBlob(1, hash).Run());
  RETURN_IF_ERROR(sign_in.status());
  Secret refresh = Mint("rt-", random_);
  RETURN_IF_ERROR(AddRefresh(sign_in->id, refresh));
  ASSIGN_OR_RETURN(Secret access, AddAccess(*sign_in));
  RETURN_IF_ERROR(EndOldSignIns(sign_in->access_key));
  return Issued{std::move(access), std::move(refresh), sign_in->scope};
}

absl::StatusOr<TokenStore::SignIn> TokenStore::BeginSignIn(Statement& code,
                                                           const std::string& code_hash) {
  SignIn sign_in{
      .id = 0, .access_key = code.Text(4), .scope = code.Text(5), .resource = code.Text(6)};
  ASSIGN_OR_RETURN(
      Statement insert,
      db_.Prepare("INSERT INTO sign_ins (code, client, access_key, scope, resource, created_ms, "
                  "used_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) RETURNING id"));
  ASSIGN_OR_RETURN(const bool inserted, insert.BindBlob(1, code_hash)
                                            .BindBlob(2, code.Text(0))
                                            .BindBlob(3, sign_in.access_key)
                                            .BindText(4, sign_in.scope)
                                            .BindText(5, sign_in.resource)
                                            .Bind(6, Now())
                                            .Step());
  if (!inserted) return absl::InternalError("a sign-in without an id");
  sign_in.id = insert.Int(0);
  return sign_in;
}

// The oldest by their last use go.
absl::Status TokenStore::EndOldSignIns(const std::string& access_key) {
  ASSIGN_OR_RETURN(Statement old, db_.Prepare("SELECT id FROM sign_ins WHERE access_key = ?1 ORDER "
                                              "BY used_ms DESC, id DESC LIMIT -1 OFFSET ?2"));
  old.BindBlob(1, access_key).Bind(2, kMaxSignInsPerKey);
  std::vector<std::int64_t> ids;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, old.Step());
    if (!more) break;
    ids.push_back(old.Int(0));
  }
  for (const std::int64_t id : ids) RETURN_IF_ERROR(EndSignIn(id));
  return absl::OkStatus();
}

absl::Status TokenStore::EndReplayed(const std::string& code_hash) {
  ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT id FROM sign_ins WHERE code = ?1"));
  ASSIGN_OR_RETURN(const bool replayed, find.BindBlob(1, code_hash).Step());
  if (!replayed) return absl::OkStatus();
  const std::int64_t id = find.Int(0);
  find.Reset();
  Log(Severity::kWarning, "sign_in.code_replayed", {{"sign_in", id}});
  return EndSignIn(id);
}

absl::StatusOr<std::optional<TokenStore::RefreshRow>> TokenStore::FindRefresh(
    std::string_view token) {
  ASSIGN_OR_RETURN(
      Statement find,
      db_.Prepare("SELECT sign_in, access_key, scope, resource, client, "
                  "min(refresh_tokens.expires_ms, ifnull(access_keys.expires_ms, "
                  "refresh_tokens.expires_ms)), refresh_tokens.used_ms FROM refresh_tokens "
                  "JOIN sign_ins ON sign_ins.id = sign_in "
                  "JOIN access_keys ON access_keys.hash = access_key "
                  "WHERE refresh_tokens.hash = ?1"));
  ASSIGN_OR_RETURN(const bool found, find.BindBlob(1, Sha256(token)).Step());
  if (!found) return std::nullopt;
  RefreshRow row{.sign_in = {.id = find.Int(0),
                             .access_key = find.Text(1),
                             .scope = find.Text(2),
                             .resource = find.Text(3)},
                 .client = find.Text(4),
                 .expires_ms = find.Int(5),
                 .used_ms = std::nullopt};
  if (!find.IsNull(6)) row.used_ms = find.Int(6);
  return row;
}

absl::StatusOr<Issued> TokenStore::Refresh(std::string_view token, std::string_view client,
                                           bool resource_fits) {
  return Commit([&] { return RefreshInTransaction(std::string(token), client, resource_fits); });
}

absl::StatusOr<Issued> TokenStore::RefreshInTransaction(std::string token, std::string_view client,
                                                        bool resource_fits) {
  ASSIGN_OR_RETURN(std::optional<RefreshRow> row, FindRefresh(token));
  if (!row.has_value() || row->client != client || row->expires_ms <= Now()) return NotGood();
  if (!resource_fits) return OtherResource();
  if (row->used_ms.has_value() && Now() - *row->used_ms > Ms(kRefreshGrace)) {
    Log(Severity::kWarning, "sign_in.refresh_replayed", {{"sign_in", row->sign_in.id}});
    RETURN_IF_ERROR(EndSignIn(row->sign_in.id));
    return NotGood();
  }
  ASSIGN_OR_RETURN(Secret access, AddAccess(row->sign_in));
  if (!row->used_ms.has_value()) {
    Secret successor = SuccessorOf(token);
    ASSIGN_OR_RETURN(Statement use, db_.Prepare("UPDATE refresh_tokens SET used_ms = ?2 "
                                                "WHERE hash = ?1"));
    RETURN_IF_ERROR(use.BindBlob(1, Sha256(token)).Bind(2, Now()).Run());
    RETURN_IF_ERROR(AddRefresh(row->sign_in.id, successor));
    ASSIGN_OR_RETURN(Statement touch,
                     db_.Prepare("UPDATE sign_ins SET used_ms = ?2 WHERE id = ?1"));
    RETURN_IF_ERROR(touch.Bind(1, row->sign_in.id).Bind(2, Now()).Run());
    return Issued{std::move(access), std::move(successor), row->sign_in.scope};
  }
  // Who refreshed at the same time may have refreshed again since: the newest is the one that goes
  // on.
  for (int i = 0; i < kMaxSuccessors; ++i) {
    Secret successor = SuccessorOf(token);
    ASSIGN_OR_RETURN(row, FindRefresh(successor.Reveal()));
    if (!row.has_value()) break;
    if (!row->used_ms.has_value()) {
      return Issued{std::move(access), std::move(successor), row->sign_in.scope};
    }
    token = std::string(successor.Reveal());
  }
  return absl::InternalError("a sign-in without a newest refresh token");
}

Secret TokenStore::SuccessorOf(std::string_view token) const {
  return Secret(StrCat("rt-", absl::WebSafeBase64Escape(
                                  HmacSha256(secret_.Reveal(), StrCat("refresh token\n", token)))));
}

absl::Status TokenStore::AddRefresh(std::int64_t sign_in, const Secret& token) {
  ASSIGN_OR_RETURN(Statement insert,
                   db_.Prepare("INSERT INTO refresh_tokens (hash, sign_in, expires_ms) "
                               "VALUES (?1, ?2, ?3)"));
  RETURN_IF_ERROR(insert.BindBlob(1, Sha256(token.Reveal()))
                      .Bind(2, sign_in)
                      .Bind(3, Now() + Ms(kRefreshTokenLifetime))
                      .Run());
  ASSIGN_OR_RETURN(Statement drop,
                   db_.Prepare("DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM "
                               "refresh_tokens WHERE sign_in = ?1 ORDER BY used_ms IS NULL DESC, "
                               "used_ms DESC LIMIT -1 OFFSET ?2)"));
  return drop.Bind(1, sign_in).Bind(2, kMaxRefreshTokensPerSignIn).Run();
}

absl::StatusOr<Secret> TokenStore::AddAccess(const SignIn& sign_in) {
  Secret token = Mint(kAccessTokenPrefix, random_);
  std::string hash = Sha256(token.Reveal());
  const std::int64_t expires_ms = Now() + Ms(kAccessTokenLifetime);
  ASSIGN_OR_RETURN(Statement insert,
                   db_.Prepare("INSERT INTO access_tokens (hash, sign_in, expires_ms) "
                               "VALUES (?1, ?2, ?3)"));
  RETURN_IF_ERROR(insert.BindBlob(1, hash).Bind(2, sign_in.id).Bind(3, expires_ms).Run());
  added_.emplace_back(std::move(hash), AccessToken{.sign_in = sign_in.id,
                                                   .access_key = sign_in.access_key,
                                                   .resource = sign_in.resource,
                                                   .expires = absl::FromUnixMillis(expires_ms)});
  RETURN_IF_ERROR(DropSpareAccess(sign_in.id));
  return token;
}

absl::Status TokenStore::DropSpareAccess(std::int64_t sign_in) {
  ASSIGN_OR_RETURN(Statement drop,
                   db_.Prepare("DELETE FROM access_tokens WHERE hash IN (SELECT hash FROM "
                               "access_tokens WHERE sign_in = ?1 ORDER BY expires_ms DESC LIMIT "
                               "-1 OFFSET ?2) RETURNING hash"));
  drop.Bind(1, sign_in).Bind(2, kMaxAccessTokensPerSignIn);
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, drop.Step());
    if (!more) return absl::OkStatus();
    dropped_.push_back(drop.Text(0));
  }
}

absl::Status TokenStore::EndSignIn(std::int64_t id) {
  ended_.push_back(id);
  ASSIGN_OR_RETURN(Statement end, db_.Prepare("DELETE FROM sign_ins WHERE id = ?1"));
  return end.Bind(1, id).Run();
}

absl::Status TokenStore::Revoke(std::string_view token, std::string_view client) {
  const absl::StatusOr<Issued> done = Commit([&]() -> absl::StatusOr<Issued> {
    ASSIGN_OR_RETURN(
        Statement find,
        db_.Prepare("SELECT id, client FROM sign_ins WHERE id IN (SELECT sign_in FROM "
                    "refresh_tokens WHERE hash = ?1 UNION SELECT sign_in FROM access_tokens WHERE "
                    "hash = ?1)"));
    ASSIGN_OR_RETURN(const bool found, find.BindBlob(1, Sha256(token)).Step());
    if (!found) return Issued();
    if (find.Text(1) != client) return NotGood();
    const std::int64_t id = find.Int(0);
    find.Reset();
    RETURN_IF_ERROR(EndSignIn(id));
    return Issued();
  });
  return done.status();
}

// What is over. A used refresh token stays for as long as it would have been good, so that its
// reuse is seen, unless many came after it.
absl::Status TokenStore::Sweep() {
  swept_ms_ = Now();
  live_.DropExpired();
  return db_.Transact([&]() -> absl::Status {
    for (const std::string_view sql :
         {"DELETE FROM access_tokens WHERE expires_ms <= ?1",
          "DELETE FROM oauth_codes WHERE expires_ms <= ?1",
          "DELETE FROM refresh_tokens WHERE expires_ms <= ?1",
          "DELETE FROM sign_ins WHERE id NOT IN (SELECT sign_in FROM refresh_tokens) AND "
          "used_ms <= ?1",
          "DELETE FROM oauth_clients WHERE id NOT IN (SELECT client FROM sign_ins) AND id NOT IN "
          "(SELECT client FROM oauth_codes) AND first_consent_ms <= ?1"}) {
      ASSIGN_OR_RETURN(Statement drop, db_.Prepare(sql));
      RETURN_IF_ERROR(drop.Bind(1, Now()).Run());
    }
    return absl::OkStatus();
  });
}

}  // namespace sandkeep::oauth
