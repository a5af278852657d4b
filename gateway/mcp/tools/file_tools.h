// The tools for files, in the order in which they are listed.
#pragma once

#include "gateway/mcp/catalog.h"

namespace sandkeep::mcp {

// All but `tools` outlive them.
void AddFileTools(AgentClient& agent, LinkMaker& links, const EndpointSettings& settings,
                  Tools* tools);

}  // namespace sandkeep::mcp
