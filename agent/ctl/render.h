// The agent's answers as text for a person at a terminal. What a model or a user once typed
// (labels) is shown without its control characters. Plain functions; any thread.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep {

std::string RenderInfo(const agent::v1::Info& info);
std::string RenderSandboxes(const agent::v1::ListSandboxesResponse& response, absl::Time now);
std::string RenderRemoved(const agent::v1::RemoveSandboxResponse& response);
std::string RenderState(const agent::v1::Sandbox& sandbox);
std::string RenderGarbage(const agent::v1::CollectGarbageResponse& response);

}  // namespace sandkeep
