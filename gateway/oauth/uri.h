// An absolute URI in its parts (RFC 3986). By hand, since what it decides is where a browser is
// sent and Boost.URL 1.81 reads the host of http://127.0.0.1.example.com as 127.0.0.1. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandkeep::oauth {

struct Uri {
  std::string scheme;  // Lower case.
  bool has_authority = false;
  std::string authority;  // As written.
  std::string path;
  std::string query;  // With its `?`, if there is one.
  bool has_fragment = false;

  // The host (lower case, IPv6 in brackets) and port of the authority. nullopt: it has a user, or
  // is no host.
  struct Host {
    std::string name;
    std::string port;
  };
  std::optional<Host> HostOf() const;

  // nullopt: it isn't one.
  static std::optional<Uri> Parse(std::string_view text);
};

}  // namespace sandkeep::oauth
