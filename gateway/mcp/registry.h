// What the endpoint offers beside its own tools. What stands here is declared to clients as a
// capability, listed and called by the one dispatcher. Filled before the endpoint is made; then
// immutable.
#pragma once

#include <boost/json/object.hpp>
#include <memory>

#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/method.h"
#include "gateway/mcp/prompts.h"
#include "gateway/mcp/resources.h"
#include "gateway/mcp/task_source.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

struct Registry {
  Tools tools;
  ResourceSources resources;
  Prompts prompts;
  Methods methods;
  TaskSources tasks;
  // What the methods need declared, by era: merged over what the rest brings along.
  boost::json::object modern_capabilities;
  boost::json::object legacy_capabilities;
};

// As the one in endpoint.h, with more to offer.
std::unique_ptr<Endpoint> MakeEndpoint(AgentClient& agent, LinkMaker& links, Clock& clock,
                                       Random& random, EndpointSettings settings,
                                       Registry registry);

}  // namespace sandkeep::mcp
