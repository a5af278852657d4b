// What stands behind which path, and who is let in: judges a request by its head, before a byte of
// its body is read.
//
//   POST /mcp                      the endpoint, with an access key or an access token
//   GET, HEAD /dl/…                files, with a link
//   GET, HEAD, PUT, POST /up/…     a page to hand files in, and their bytes, with its token
//   GET, POST /authorize           the sign-in page       POST /token /register /revoke
//   GET, HEAD /.well-known/…       what clients find out about signing in; else a JSON 404
//   GET, HEAD /healthz             `ok`
//
// The order is fixed: Host, Origin (403), the path (404), OPTIONS, the key (401), the method (405),
// the rate (429). A form of the sign-in must have its length in front (411, 413): strangers may
// send one. Clients take a 401 as "sign in" and anything else as an answer of the endpoint, so the
// key comes before all that a client could take for one. `/mcp/` is `/mcp`, without a redirect,
// which would lose the body. All of it also stands below MCP_PUBLIC_BASE's path.
//
// With DOWNLOAD_BASE the name in it has /dl/ and nothing else, and /dl/ elsewhere leads there.
//
// Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/http/exchange.h"
#include "gateway/http/host_policy.h"
#include "gateway/http/proxies.h"
#include "gateway/http/rate_limit.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"
#include "gateway/http/token_book.h"
#include "gateway/keys/access_keys.h"

namespace sandkeep::http {

// Either the answer, or who gives it.
struct Admission {
  std::optional<Response> answer;
  Handler* handler = nullptr;
};

class Router {
 public:
  struct Parts {
    AccessKeys& keys;
    RateLimit& rate;
    Handler& mcp;
    Handler& downloads;
    // Without it there are no uploads.
    Handler* uploads = nullptr;
    // Without them there is no sign-in.
    Handler* oauth = nullptr;
    TokenBook* tokens = nullptr;
    // Without it a client is who connects.
    const Proxies* proxies = nullptr;
  };
  Router(HostPolicy policy, Parts parts) : policy_(std::move(policy)), parts_(parts) {}

  // Fills in what the request lacks (path, public_base, origin, caller).
  Admission Admit(Request& request);

 private:
  // nullopt: host and origin are ours.
  std::optional<Response> CheckHostAndOrigin(Request& request) const;
  // Where downloads have a name of their own, they are found there and nothing else is.
  std::optional<Response> CheckPlace(const Request& request) const;
  Admission AdmitToMcp(Request& request);
  Admission AdmitToDownloads(const Request& request);
  Admission AdmitToOauth(const Request& request, std::string_view methods);
  std::optional<KeyOwner> CallerOf(const Request& request) const;
  Response Challenge(const Request& request) const;

  HostPolicy policy_;
  Parts parts_;
};

}  // namespace sandkeep::http
