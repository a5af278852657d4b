// The authorization server (OAuth 2.1) of the gateway, on its own origin: what stands behind
// /authorize, /token, /register, /revoke and /.well-known/…, and the book of access tokens that the
// router asks. Its database has a thread of its own.
//
// Any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/sqlite.h"
#include "gateway/http/exchange.h"
#include "gateway/keys/access_keys.h"
#include "gateway/oauth/access_tokens.h"
#include "gateway/oauth/authorize.h"
#include "gateway/oauth/client.h"
#include "gateway/oauth/source_limit.h"
#include "gateway/oauth/token_store.h"

namespace sandkeep::oauth {

class Server : public http::Handler {
 public:
  // `db` is a connection of its own. Reads what an earlier run left: blocks on the disk. The others
  // outlive it.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Database db, AccessKeys& keys,
                                                       Random& random, const Clock& clock);
  ~Server() override;

  http::TokenBook& tokens() { return tokens_; }

  boost::asio::awaitable<void> Handle(http::Exchange& exchange) override;

 private:
  Server(Database db, const Secret& secret, AccessKeys& keys, Random& random, const Clock& clock);

  boost::asio::awaitable<http::Response> Answer(const http::Request& request);
  http::Response Register(const http::Request& request);
  boost::asio::awaitable<http::Response> Token(const http::Request& request);
  boost::asio::awaitable<http::Response> Grant(const http::Request& request, const Form& form,
                                               const Client& client);
  boost::asio::awaitable<http::Response> Revoke(const http::Request& request);

  Random& random_;
  const Clock& clock_;
  AccessTokens tokens_;
  const ClientRegistry registry_;
  TokenStore store_;
  boost::asio::thread_pool store_thread_{1};
  SourceLimit registrations_;
  Authorize authorize_;
};

}  // namespace sandkeep::oauth
