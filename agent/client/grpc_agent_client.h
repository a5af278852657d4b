// The real client: gRPC's callback API over the agent's Unix socket, one connection, made lazily
// and again whenever needed. Made by ConnectToAgent; tests that trust their own folder make it
// here.
//
// Destroying it cancels what is in flight and waits for gRPC's threads to let go, which is
// microseconds: do it while the executors of the calls still exist. Streams may outlive it; they
// end as cancelled.
#pragma once

#include <memory>
#include <string>

#include "agent/client/agent_client.h"

namespace sandkeep {

std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& socket_path);

}  // namespace sandkeep
