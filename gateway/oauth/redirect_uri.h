// Where a client may have the browser sent, and where it asks for. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sandkeep::oauth {

// Whether a client may register it: https; http on loopback (RFC 8252, 7.3); a scheme of the
// client's own, such as cursor://, but none that a browser or the system acts on by itself.
// InvalidArgument says what is wrong.
absl::Status CheckRedirectUri(std::string_view text);

// The same, byte for byte; on loopback http the port is free, since such clients take one that is
// free when they start.
bool RedirectMatches(std::string_view registered, std::string_view given);

// Any program on the person's device could be behind it: loopback, or a scheme.
bool IsLocalRedirect(std::string_view text);

// What the person is shown: `app.example.com`, `localhost:3000 (this device)`, `cursor: (an app on
// this device)`.
std::string RedirectTarget(std::string_view text);

}  // namespace sandkeep::oauth
