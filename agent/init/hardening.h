// What keeps the sandbox from PID 1: it shares a user with everything that runs inside, so being
// PID 1 alone protects it from signals and from nothing else.
#pragma once

#include "absl/status/status.h"

namespace sandkeep::init {

// Once, before the channel exists: no new privileges, not dumpable (so no ptrace, no pidfd_getfd,
// no environ from inside), no prlimit on PID 1. Everything is inherited by the commands but the
// dumpable flag, which exec resets. An error: this process mustn't serve.
absl::Status Harden();

// Every signal ignored but SIGCHLD, which is blocked for a signalfd. Ignored and not blocked: a
// blocked real-time signal would queue up.
void IgnoreSignals();

}  // namespace sandkeep::init
