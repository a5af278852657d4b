// What clients are told before they call anything: who we are, the instructions, the tools. Made as
// text once for what is known of the host, so that a listing costs one copy. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/host.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

using Tools = std::vector<std::unique_ptr<Tool>>;

struct Catalog {
  // Results, as JSON text.
  std::string modern_tools;
  std::string legacy_tools;
  std::string discovery;

  // Of the handshake. `version`: the one that is agreed on.
  static std::string Handshake(std::string_view version);
};

// `host` may be null.
Catalog MakeCatalog(const Tools& tools, const agent::v1::Info* host);

// The last members of every result in 2026-07-28: its type, and who answers.
std::string_view ModernMembers();

}  // namespace sandkeep::mcp
