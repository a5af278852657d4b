// The life of a supervisor, in the forked process: starts the command, reaps its tree, reports.
#pragma once

#include "agent/init/supervisor.h"

namespace sandkeep::init {

// `reports` is a descriptor of this process. Ends when nothing of the tree is left.
[[noreturn]] void Supervise(CommandSetup& setup, int reports);

}  // namespace sandkeep::init
