#include "gateway/settings.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/http/listen_address.h"

namespace sandkeep {
namespace {

// It came from a person, maybe as an example has it.
absl::Status CheckOwnerKey(const Secret& key) {
  if (key.empty()) return absl::OkStatus();
  const std::string_view text = key.Reveal();
  const bool visible =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  const bool fits = text.size() >= kLeastOwnerKeyBytes && text.size() <= kMaxBearerBytes;
  if (visible && fits) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("SANDBOX_API_KEY: must be ", kLeastOwnerKeyBytes, " to ",
                                           kMaxBearerBytes,
                                           " visible ASCII characters without blanks, at random"));
}

}  // namespace

std::string StateDirOf(const Settings& settings) {
  return settings.IsSet("STATE_DIR") ? settings.Text("STATE_DIR") : "/var/lib/sandkeep-gateway";
}

absl::StatusOr<GatewaySettings> GatewaySettings::From(const Settings& settings) {
  Mistakes mistakes;
  GatewaySettings result;
  result.tls = {.certificate = settings.Text("TLS_CERT"), .key = settings.Text("TLS_KEY")};
  // Serving in the clear what was meant to be encrypted would be worse than not starting.
  if (result.tls.certificate.empty() != result.tls.key.empty()) {
    mistakes.Add("TLS_CERT and TLS_KEY: one is of no use without the other; set both, or neither");
  }
  absl::StatusOr<http::Proxies> proxies = http::Proxies::Make(settings.List("TRUSTED_PROXIES"));
  mistakes.Add(proxies.status());
  result.host = settings.Text("SANDBOX_HOST");
  result.port = static_cast<std::uint16_t>(settings.Int("SANDBOX_PORT"));
  result.names = {.listen_host = result.host,
                  .public_base = settings.Text("MCP_PUBLIC_BASE"),
                  .download_base = settings.Text("DOWNLOAD_BASE"),
                  .allowed_hosts = settings.List("ALLOWED_HOSTS"),
                  .allowed_origins = settings.List("ALLOWED_ORIGINS")};
  mistakes.Add(CheckOwnerKey(settings.SecretText("SANDBOX_API_KEY")));
  mistakes.Add(http::ListenAddress(result.host, result.port).status());
  mistakes.Add(http::HostPolicy::Make(result.names).status());
  RETURN_IF_ERROR(mistakes.status());
  result.proxies = *std::move(proxies);
  result.state_dir = StateDirOf(settings);
  result.agent_socket = settings.Text("AGENT_SOCKET");
  result.sign_key = settings.SecretText("MCP_SIGN_KEY");
  result.owner_key = settings.SecretText("SANDBOX_API_KEY");
  result.link_lifetimes = {std::chrono::seconds(settings.Int("SANDBOX_LINK_TTL")),
                           std::chrono::seconds(settings.PersistentInt("SANDBOX_LINK_TTL"))};
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
