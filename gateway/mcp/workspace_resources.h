// The files of a principal's workspaces as resources: `sandkeep://LABEL/PATH`, path and label
// percent-encoded. Listed are the last changed of each sandbox, a sandbox a page, the last used
// first; any other file is read by the template. Knows nothing between calls; any thread.
#pragma once

#include "agent/client/agent_client.h"
#include "gateway/mcp/resources.h"

namespace sandkeep::mcp {

class WorkspaceResources : public ResourceSource {
 public:
  // Both outlive it.
  WorkspaceResources(AgentClient& agent, const EndpointSettings& settings)
      : agent_(agent), settings_(settings) {}

  Async<ResourcePage> List(CallContext& context, std::string cursor) override;
  std::vector<ResourceTemplate> Templates() const override;
  Async<std::optional<std::vector<ResourceContent>>> Read(CallContext& context,
                                                          std::string uri) override;

 private:
  ResourceInfo InfoOf(const std::string& label, const agent::v1::FileInfo& file) const;

  AgentClient& agent_;
  const EndpointSettings& settings_;
};

}  // namespace sandkeep::mcp
