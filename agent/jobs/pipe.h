// The pipes between a command and us. The agent makes them, so that they count against its own uid
// and not against the one that all sandboxes share; init holds second descriptions of our ends, so
// that a pipe outlives the agent. What comes back from init is checked: it is hostile.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace sandkeep {

// `ours` is non-blocking and never leaves the agent. `kept` is the same end under a file
// description of its own, for init to keep. `theirs` is the other end, for the command.
struct Pipe {
  UniqueFd ours;
  UniqueFd kept;
  UniqueFd theirs;
  std::uint64_t inode = 0;
};

// ResourceExhausted: no more descriptors or memory for pipes.
absl::StatusOr<Pipe> MakeOutputPipe();
absl::StatusOr<Pipe> MakeInputPipe();

// The end of ours that init kept, as a description of our own again. DataLoss: it isn't the pipe
// with that inode, or the wrong end of it. A writer that isn't valid: nobody reads any more.
absl::StatusOr<UniqueFd> TakeBackReader(const UniqueFd& kept, std::uint64_t inode);
absl::StatusOr<UniqueFd> TakeBackWriter(const UniqueFd& kept, std::uint64_t inode);

}  // namespace sandkeep
