// GET and POST /authorize: shows who asks for what, takes an access key as the sign-in, and sends
// the browser back to the client with a code.
//
// A wrong request is told to the person, with a link back to the client that carries the error: the
// browser isn't sent on by itself to an address that anybody may have registered. Wrong keys are
// counted for each address, and above its allowance are answered 429; a right key is never refused,
// so that nobody can lock anybody out: 256 random bits need no lock, and a look-up is too cheap to
// be worth slowing down.
//
// Any thread, but Decide resumes on its caller's.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/random.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"
#include "gateway/keys/access_keys.h"
#include "gateway/oauth/client.h"
#include "gateway/oauth/form.h"
#include "gateway/oauth/sealed_request.h"
#include "gateway/oauth/source_limit.h"
#include "gateway/oauth/token_store.h"

namespace sandkeep::oauth {

class Authorize {
 public:
  // All but `secret` outlive it. `store` is used on `store_thread` only.
  struct Parts {
    AccessKeys& keys;
    const ClientRegistry& registry;
    TokenStore& store;
    boost::asio::thread_pool& store_thread;
    Random& random;
    const Clock& clock;
  };
  Authorize(Parts parts, Secret secret);

  http::Response Show(const http::Request& request);
  // `request` stays until it has answered.
  boost::asio::awaitable<http::Response> Decide(const http::Request& request);

 private:
  // What of a request is wrong, by OAuth's names; empty: nothing.
  struct Fault {
    std::string error;
    std::string description;
  };
  Fault FaultOf(const Form& form, const http::Request& request) const;
  http::Response SignIn(const http::Request& request, const AuthorizationRequest& asked,
                        const Client& client, int status, std::string_view problem);
  http::Response WrongKey(const http::Request& request, const AuthorizationRequest& asked,
                          const Client& client);

  const Parts parts_;
  const RequestSealer sealer_;
  SourceLimit wrong_keys_;
};

}  // namespace sandkeep::oauth
