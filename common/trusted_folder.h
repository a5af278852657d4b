// Whether a Unix socket's folder can be trusted to hold the socket that its owner put there: nobody
// but root, ourselves and (for the folder itself) one user whom root let own it could have placed
// or replaced something in it. Any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace sandkeep {

enum class FolderOwner {
  kSelf,     // Root or we: where we listen.
  kAnyPeer,  // Also another user, if only root could have made the folder: where we connect.
};

// `folder` may not exist yet: then whoever may create it is judged. FailedPrecondition: the message
// names the folder and the remedy.
absl::Status CheckTrustedFolder(const std::string& folder, FolderOwner owner);

}  // namespace sandkeep
