// The life of a supervisor, in the forked process: starts a command, reaps its tree, reports, and
// waits for the next one when nothing of that tree is left. It ends when something was left behind
// and has ended since, and when init lets go of it.
#pragma once

#include <string>

#include "agent/init/supervisor.h"

namespace sandkeep::init {

// `reports` is a descriptor of this process.
[[noreturn]] void Supervise(CommandSetup& setup, int reports);

// The same, but the first command comes by `reports`, too (hand_over.h), and everything that
// doesn't depend on it is done before.
[[noreturn]] void WaitAndSupervise(const std::string& workspace, int reports);

}  // namespace sandkeep::init
