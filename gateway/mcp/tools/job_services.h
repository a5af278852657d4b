// What the tools that deal with jobs share. All of it outlives them; each is thread-safe.
#pragma once

#include "agent/client/agent_client.h"
#include "common/clock.h"
#include "common/random.h"
#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/job_positions.h"

namespace sandkeep::mcp {

struct JobServices {
  AgentClient& agent;
  LinkMaker& links;
  Clock& clock;
  Random& random;
  Host& host;
  JobPositions& positions;
  const EndpointSettings& settings;
};

}  // namespace sandkeep::mcp
