// The pipes of one job, as they ride on its Start: the command's ends, which init passes on, and
// the agent's, which init keeps so that no byte is lost while there is no agent.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep::init {

struct JobPipes {
  // The command's. No stderr_write: both streams go into one pipe. No stdin_read: /dev/null.
  UniqueFd stdin_read;
  UniqueFd stdout_write;
  UniqueFd stderr_write;
  // The command's text and its coming, of a shell that stands by.
  UniqueFd text;
  UniqueFd ready;
  // Kept.
  UniqueFd stdout_read;
  UniqueFd stderr_read;
  UniqueFd stdin_write;

  // InvalidArgument: another number of descriptors than `start` asks for, or one that isn't the
  // right end of a pipe. They are closed, whatever is wrong.
  static absl::StatusOr<JobPipes> Take(const v1::Start& start, std::vector<UniqueFd> descriptors);

  void CloseCommandEnds();
  void CloseKept();
  // Closes kept read ends that nobody can write to any more and that hold nothing.
  void CloseDrained();
};

}  // namespace sandkeep::init
