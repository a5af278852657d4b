// What sandkeep-gateway is told by its settings, in the types that its parts want. Read once,
// before the first thread; then a plain value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/secret.h"
#include "common/settings.h"
#include "gateway/downloads/link.h"
#include "gateway/http/certificates.h"
#include "gateway/http/host_policy.h"
#include "gateway/http/proxies.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep {

struct GatewaySettings {
  std::string host;  // SANDBOX_HOST
  std::uint16_t port = 0;
  http::HostPolicySettings names;
  http::TlsFiles tls;     // TLS_CERT, TLS_KEY; empty: plain.
  http::Proxies proxies;  // TRUSTED_PROXIES
  std::string state_dir;
  std::string agent_socket;
  Secret sign_key;   // MCP_SIGN_KEY; empty: made at first start.
  Secret owner_key;  // SANDBOX_API_KEY; empty: none.
  LinkLifetimes link_lifetimes{std::chrono::seconds(0)};
  int request_rate = 0;
  mcp::EndpointSettings endpoint;  // Without its media types.

  // InvalidArgument: what isn't served by this version, an address, host, origin or base that is
  // none; a line each.
  static absl::StatusOr<GatewaySettings> From(const Settings& settings);
};

// STATE_DIR, or where it is by default: all that the `keys` command needs.
std::string StateDirOf(const Settings& settings);

}  // namespace sandkeep
