// The running gateway: builds its parts in the order in which they need each other, serves until
// SIGTERM or SIGINT, and drains.
#pragma once

#include "absl/status/status.h"
#include "gateway/mcp/registry.h"
#include "gateway/settings.h"

namespace sandkeep {

// `registry`: what is offered beside our own. Returns when it has drained, or with why it couldn't
// start. The process is to end then, without destroying what threads of libraries may still use.
absl::Status Serve(GatewaySettings settings, mcp::Registry registry);

}  // namespace sandkeep
