// What clients are told before they call anything: who we are, the instructions, the tools. Made as
// text once for what is known of the host, so that a listing costs one copy. Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/mcp/host.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

struct Catalog {
  // Results, as JSON text.
  std::string modern_tools;
  std::string legacy_tools;
  std::string discovery;

  // Of the handshake. `version`: the one that is agreed on; `capabilities` as JSON.
  static std::string Handshake(std::string_view version, std::string_view capabilities,
                               const agent::v1::Info* host);
};

// `host` may be null. `capabilities` as JSON, of 2026-07-28.
Catalog MakeCatalog(const Tools& tools, const agent::v1::Info* host, std::string_view capabilities);

// The last members of every whole result in 2026-07-28: its type, and who answers.
std::string_view ModernMembers();
// As those, of a result that asks the client.
std::string_view AskingMembers();
// As those, of a result that is a task.
std::string_view TaskResultMembers();
// How long a result may be kept, with a comma after it.
std::string CacheMembers(std::int64_t ttl_ms);

}  // namespace sandkeep::mcp
