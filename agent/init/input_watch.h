// Whether a command waits for somebody to type: a process of its tree blocks in a read of its
// standard input, and that is the pipe of this job.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "agent/init/process_tree.h"

namespace sandkeep::init {

// The text of /proc/<pid>/syscall of a process that blocks in a read of descriptor 0.
bool IsReadOfInput(std::string_view syscall);

// `pipe` is the inode of the job's stdin. What /proc doesn't let init see counts as not waiting.
bool WaitsForInput(const ProcessTree& tree, pid_t supervisor, ino_t pipe);

}  // namespace sandkeep::init
