// Which client is asking at /token and /revoke (RFC 6749, 2.3). Any thread.
#pragma once

#include "absl/status/statusor.h"
#include "gateway/http/request.h"
#include "gateway/oauth/client.h"
#include "gateway/oauth/form.h"

namespace sandkeep::oauth {

// By HTTP Basic, or by client_id and client_secret in the form; an Authorization header of another
// scheme isn't looked at. Unauthenticated: no client of ours, or a confidential one without its
// secret.
absl::StatusOr<Client> Authenticate(const http::Request& request, const Form& form,
                                    const ClientRegistry& registry);

}  // namespace sandkeep::oauth
