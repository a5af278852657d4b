// A command on its way from init to a supervisor that waits for one: one message of a socket pair,
// its descriptors riding on it.
#pragma once

#include <array>
#include <cstddef>

#include "agent/init/supervisor.h"
#include "common/limits.h"

namespace sandkeep::init {

// The descriptors of a supervisor. Its command inherits those before the report's as they stand,
// and the one after it if it stands by.
inline constexpr int kCommandFd = 3;
inline constexpr int kReportFd = 4;
inline constexpr int kReadyFd = 5;

// False: it can't be handed over, and wasn't. The other end is gone, or the kernel lets no
// descriptor travel: those in flight count against the one kernel user of all sandboxes.
bool SendCommand(int socket, const CommandSetup& setup);

// The receiver's side. Nothing here allocates: a forked process copies each page that it writes to.
class HandOver {
 public:
  // Not initialised on purpose: only the pages that a message fills are touched.
  HandOver() {}  // NOLINT(modernize-use-equals-default)

  // Waits. The command's descriptors take the lowest free numbers: where all but the report's are
  // free, they stand as the shell wants them. False: nothing that makes sense can come any more.
  bool Receive(int socket);

  // It came with the descriptor of a shell that stands by, as the one after the report's.
  bool standby() const { return standby_; }
  const char* folder() const { return text_.data(); }
  char* const* environment() const { return environment_.data(); }

 private:
  bool Parse(std::size_t size);

  std::array<char, kMaxHandOverBytes> text_;
  std::array<char*, kMaxHandOverEntries + 1> environment_;
  bool standby_ = false;
};

}  // namespace sandkeep::init
