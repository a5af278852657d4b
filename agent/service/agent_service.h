// The agent's API as one peer sees it: roles from the table, validation, then the sandbox manager,
// and what it says as messages. One instance a listed peer, so that who calls is fixed when it is
// made.
//
// gRPC's threads only post; every call is a coroutine on `executor`. A caller that goes away ends
// its stream or its question, never a job: what changes something runs to its end.
#pragma once

#include <memory>

#include "agent/peer_listener/peer.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/file_services.h"
#include "agent/service/host_facts.h"
#include "common/async.h"

namespace grpc {
class Service;
}

namespace sandkeep {

// Everything but `peer` and `facts` outlives the service.
std::unique_ptr<grpc::Service> MakeAgentService(boost::asio::any_io_executor executor,
                                                SandboxManager& manager, FileServices files,
                                                HostFacts facts, Peer peer);

}  // namespace sandkeep
