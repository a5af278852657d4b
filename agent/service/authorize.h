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

// A key alone is somebody's link: a peer that is bound to a prefix can't use it.
absl::Status MayUse(const Peer& peer, const Rpc& rpc, const SandboxRef& ref);

}  // namespace sandkeep
