// The agent's Unix socket. It accepts connections itself and asks the kernel who is there
// (SO_PEERCRED) before anybody reads a byte: gRPC can't tell a peer's uid. A connection of a listed
// user goes to that user's handler, so that who calls is fixed for its whole life; a stranger's is
// closed. Knows no gRPC.
//
// Owned by the server, on a strand of its own; Start and Stop may be called from any thread.
// At most kMaxConnectionsPerUid a user. Without descriptors accepting pauses and goes on by itself.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/peer_listener/peer.h"
#include "common/unique_fd.h"

namespace sandkeep {

// Where one user's connections go. `take` gets a non-blocking socket, on the listener's strand.
struct PeerRoute {
  uid_t uid = 0;
  std::function<void(UniqueFd)> take;
};

class PeerListener {
 public:
  virtual ~PeerListener() = default;

  // Closes and removes the socket. Connections that were handed over stay as they are. No route is
  // called after it returned, if it is called on the strand or with no thread in the executor.
  virtual void Stop() = 0;
};

// Makes the socket, of `type` (SOCK_STREAM or SOCK_SEQPACKET), 0660 and of `group` (absent: the
// process's own), and begins to accept. One that was left behind by a dead process is replaced.
// AlreadyExists: somebody listens there; FailedPrecondition: others may write its folder, or the
// path is something else than a socket.
absl::StatusOr<std::shared_ptr<PeerListener>> ListenForPeers(boost::asio::any_io_executor executor,
                                                             const std::string& path, int type,
                                                             std::optional<gid_t> group,
                                                             std::vector<PeerRoute> routes);

}  // namespace sandkeep
