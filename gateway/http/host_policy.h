// Which names we answer to, and which web pages may call us: the fence against DNS rebinding and
// against a browser that carries somebody else's page. Made once; then any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep::http {

// `name` in lower case, IPv6 in brackets; `port` as digits, empty if there is none.
struct HostPort {
  std::string name;
  std::string port;

  // nullopt: not a host.
  static std::optional<HostPort> Parse(std::string_view text);
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct HostPolicySettings {
  std::string listen_host;                   // SANDBOX_HOST
  std::string public_base;                   // MCP_PUBLIC_BASE; may be empty.
  std::string download_base = {};            // DOWNLOAD_BASE; may be empty.
  std::vector<std::string> allowed_hosts;    // `name` or `name:port`
  std::vector<std::string> allowed_origins;  // `https://name[:port]`
};

class HostPolicy {
 public:
  // InvalidArgument: entries that aren't a host, an origin or a base, each named in a line.
  static absl::StatusOr<HostPolicy> Make(const HostPolicySettings& settings);

  // An entry without a port allows every port of its host.
  bool AllowsHost(const HostPort& host) const;
  // `host` is the request's, already allowed. `null` never is.
  bool AllowsOrigin(std::string_view origin, const HostPort& host) const;

  // The name that is for downloads alone.
  bool IsForDownloads(const HostPort& host) const;
  // DOWNLOAD_BASE without a slash at its end; empty if unset.
  const std::string& download_base() const { return download_base_; }
  // MCP_PUBLIC_BASE without a slash at its end; empty if unset.
  const std::string& public_base() const { return public_base_; }
  // Its path: empty, or `/…` without a slash at its end.
  const std::string& base_path() const { return base_path_; }

 private:
  // False: it is no base.
  bool TakeBase(const std::string& url);
  bool TakeDownloadBase(const std::string& url);

  std::vector<HostPort> hosts_;
  std::vector<std::string> origins_;
  std::optional<HostPort> download_host_;
  std::string download_base_;
  std::string public_base_;
  std::string base_path_;
};

}  // namespace sandkeep::http
