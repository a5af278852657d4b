#include "agent/service/authorize.h"

#include "common/strings.h"

namespace sandkeep {
namespace {

bool AsOperator(const Peer& peer, const Rpc& rpc) {
  return peer.operate && rpc.callers != Callers::kFrontends;
}

bool AsFrontend(const Peer& peer, const Rpc& rpc) {
  return peer.frontend && rpc.callers != Callers::kOperators;
}

}  // namespace

absl::Status MayCall(const Peer& peer, const Rpc& rpc) {
  if (AsFrontend(peer, rpc) || AsOperator(peer, rpc)) return absl::OkStatus();
  return absl::PermissionDeniedError(StrCat(rpc.name, " is for ",
                                            rpc.callers == Callers::kOperators
                                                ? "operators (AGENT_OPERATOR_UIDS)"
                                                : "front ends (AGENT_FRONTEND_UIDS)"));
}

bool IsBoundToPrefix(const Peer& peer, const Rpc& rpc) {
  return !AsOperator(peer, rpc) && !peer.prefix.empty();
}

absl::Status MayName(const Peer& peer, const Rpc& rpc, const PrincipalId& principal) {
  if (!IsBoundToPrefix(peer, rpc) || principal.prefix() == peer.prefix) return absl::OkStatus();
  return absl::PermissionDeniedError(
      StrCat("this front end may only name principals that begin with ", peer.prefix, "-"));
}

}  // namespace sandkeep
