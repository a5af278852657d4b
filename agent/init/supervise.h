// The life of a supervisor, in the forked process: starts the command, reaps its tree, reports.
#pragma once

#include <string>

#include "agent/init/supervisor.h"

namespace sandkeep::init {

// `reports` is a descriptor of this process. Ends when nothing of the tree is left.
[[noreturn]] void Supervise(CommandSetup& setup, int reports);

// The same, but the command comes by `reports` (hand_over.h), and everything that doesn't depend on
// it is done before.
[[noreturn]] void WaitAndSupervise(const std::string& workspace, int reports);

}  // namespace sandkeep::init
