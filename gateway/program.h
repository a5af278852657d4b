// The gateway's command line: `serve`, and `keys` for its operator.
#pragma once

#include "gateway/mcp/registry.h"

namespace sandkeep {

// What the process ends with. `registry`: what is offered beside our own.
int RunGateway(int argc, char** argv, mcp::Registry registry);

}  // namespace sandkeep
