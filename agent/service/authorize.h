// What a peer may do: its roles against the table, and the principals that it may name. Any thread.
#pragma once

#include "absl/status/status.h"
#include "agent/peer_listener/peer.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/rpc_table.h"

namespace sandkeep {

// PermissionDenied: the method isn't for this peer's roles.
absl::Status MayCall(const Peer& peer, const Rpc& rpc);

// Somebody else's principal: PermissionDenied. An operator may name anyone where the table lets
// operators call.
absl::Status MayName(const Peer& peer, const Rpc& rpc, const PrincipalId& principal);

// Whether MayName must be asked about a sandbox that is named by its key alone: only the manager
// knows whose it is.
bool IsBoundToPrefix(const Peer& peer, const Rpc& rpc);

}  // namespace sandkeep
