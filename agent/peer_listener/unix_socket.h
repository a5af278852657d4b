// Makes the listening Unix socket of a path that only we can write. Any thread; doesn't block but
// for a connect to a socket that was left behind.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace sandkeep {

// `type` is SOCK_STREAM or SOCK_SEQPACKET. See ListenForPeers for what is refused. Never a moment
// in which others than its owner can connect to a socket of the wrong group.
absl::StatusOr<UniqueFd> BindUnixSocket(const std::string& path, int type,
                                        std::optional<gid_t> group);

// Where the kernel can (6.16), no descriptor can be queued on this socket: those of a stranger make
// close() hang. Accepted connections inherit it.
void RefuseDescriptors(int socket);

}  // namespace sandkeep
