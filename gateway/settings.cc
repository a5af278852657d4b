#include "gateway/settings.h"

#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/http/listen_address.h"

namespace sandkeep {

std::string StateDirOf(const Settings& settings) {
  return settings.IsSet("STATE_DIR") ? settings.Text("STATE_DIR") : "/var/lib/sandkeep-gateway";
}

absl::StatusOr<GatewaySettings> GatewaySettings::From(const Settings& settings) {
  // Serving in the clear what was meant to be encrypted would be worse than not starting.
  std::string unserved;
  for (const std::string_view name : {"TLS_CERT", "TLS_KEY", "TRUSTED_PROXIES", "DOWNLOAD_BASE"}) {
    if (settings.IsSet(name)) StrAppend(&unserved, unserved.empty() ? "" : ", ", name);
  }
  Mistakes mistakes;
  if (!unserved.empty()) {
    mistakes.Add(
        StrCat(unserved, ": not served by this version; put a proxy that ends TLS before it"));
  }
  GatewaySettings result;
  result.host = settings.Text("SANDBOX_HOST");
  result.port = static_cast<std::uint16_t>(settings.Int("SANDBOX_PORT"));
  result.names = {.listen_host = result.host,
                  .public_base = settings.Text("MCP_PUBLIC_BASE"),
                  .allowed_hosts = settings.List("ALLOWED_HOSTS"),
                  .allowed_origins = settings.List("ALLOWED_ORIGINS")};
  mistakes.Add(http::ListenAddress(result.host, result.port).status());
  mistakes.Add(http::HostPolicy::Make(result.names).status());
  RETURN_IF_ERROR(mistakes.status());
  result.state_dir = StateDirOf(settings);
  result.agent_socket = settings.Text("AGENT_SOCKET");
  result.sign_key = settings.SecretText("MCP_SIGN_KEY");
  result.link_lifetime = std::chrono::seconds(settings.Int("SANDBOX_LINK_TTL"));
  result.request_rate = static_cast<int>(settings.Int("REQUEST_RATE"));
  result.endpoint.max_output_bytes = static_cast<std::size_t>(settings.Int("MAX_OUTPUT_BYTES"));
  result.endpoint.apart_output_bytes =
      static_cast<std::size_t>(settings.PersistentInt("MAX_OUTPUT_BYTES"));
  result.endpoint.inline_max_bytes = static_cast<std::size_t>(settings.Int("SANDBOX_INLINE_MAX"));
  result.endpoint.image_max_bytes = static_cast<std::size_t>(settings.Int("SANDBOX_IMAGE_MAX"));
  result.endpoint.cancel_on_disconnect = settings.Switch("CANCEL_ON_DISCONNECT");
  return result;
}

}  // namespace sandkeep
