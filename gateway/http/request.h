// A request as it came, and what the router found out about it. Plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/keys/key_table.h"

namespace sandkeep::http {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method;
  std::string target;  // As sent.
  bool http_1_0 = false;
  bool keep_alive = true;
  std::vector<Header> headers;  // Names in lower case, each once.
  std::string body;             // At most kMaxBodyBytes; of one that is streamed, what has come.

  // ---- The connection's ----
  std::string peer;     // The address it came from, without port.
  bool secure = false;  // By TLS of ours.

  // ---- The router's ----
  std::string path;         // Below MCP_PUBLIC_BASE's path, without the query, still encoded.
  std::string public_base;  // Where the person reaches us; no trailing slash.
  std::string origin;       // The Origin header, once it is known to be allowed; else empty.
  std::optional<KeyOwner> caller;

  // nullptr: absent. `name` in lower case.
  const std::string* Find(std::string_view name) const {
    for (const Header& header : headers) {
      if (header.name == name) return &header.value;
    }
    return nullptr;
  }
};

}  // namespace sandkeep::http
