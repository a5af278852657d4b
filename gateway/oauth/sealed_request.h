// An authorization request on its way through the sign-in page: what was asked for travels in the
// form, under an HMAC over it and the browser's cookie. So nothing is kept of a page that is only
// looked at, and a form that another site or another browser made isn't one of ours.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/secret.h"

namespace sandkeep::oauth {

struct AuthorizationRequest {
  std::string client_id;
  std::string redirect_uri;
  std::string state;
  std::string challenge;
  std::string scope;
  std::string resource;
  std::string issuer;
};

struct SealedRequest {
  std::string request;
  std::string token;
};

class RequestSealer {
 public:
  explicit RequestSealer(Secret secret) : secret_(std::move(secret)) {}

  SealedRequest Seal(const AuthorizationRequest& request, std::string_view cookie,
                     absl::Time expires) const;

  // InvalidArgument: it isn't ours, isn't this browser's, or is over.
  absl::StatusOr<AuthorizationRequest> Open(const SealedRequest& sealed, std::string_view cookie,
                                            absl::Time now) const;

 private:
  std::string Mac(std::string_view request, std::string_view cookie) const;

  const Secret secret_;
};

}  // namespace sandkeep::oauth
