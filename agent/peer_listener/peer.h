// Who may call the agent: one user of this machine, as AGENT_FRONTEND_UIDS and AGENT_OPERATOR_UIDS
// list it. Plain value; any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep {

struct Peer {
  uid_t uid = 0;
  bool frontend = false;
  bool operate = false;
  // As a front end, only principals of this prefix; empty: any.
  std::string prefix;
};

// The entries of both settings: `user` or (front ends only) `user:prefix`; a user is a name or a
// number. A user in both lists has both roles. InvalidArgument: the message names the setting and
// the entry.
absl::StatusOr<std::vector<Peer>> ParsePeers(const std::vector<std::string>& frontends,
                                             const std::vector<std::string>& operators);

}  // namespace sandkeep
