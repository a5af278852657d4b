// The agent's API on its Unix socket: the listener, and one gRPC server for each listed peer, so
// that nothing but the kernel's word decides who calls. Beside it the socket that hands over opened
// files, to the same peers.
//
// Owned by main. Start and destroy it while threads run `executor`, and not on one of them:
// destroying cancels every call and waits for its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/peer_listener/peer.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/host_facts.h"

namespace sandkeep {

struct ServerOptions {
  std::string socket_path;
  std::optional<gid_t> socket_group;
  std::vector<Peer> peers;
  std::string imager_path = {};  // sandkeep-imager on this host.
};

class AgentServer {
 public:
  virtual ~AgentServer() = default;
};

// Answers as soon as it returned. `manager` outlives the server.
absl::StatusOr<std::unique_ptr<AgentServer>> StartAgentServer(boost::asio::any_io_executor executor,
                                                              SandboxManager& manager,
                                                              HostFacts facts,
                                                              ServerOptions options);

}  // namespace sandkeep
