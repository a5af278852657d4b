#include "agent/init/supervisor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "agent/init/supervise.h"

namespace sandkeep::init {

std::optional<Supervisor> Supervisor::Fork(CommandSetup& setup, int& error) {
  // A socket pair and not a pipe: all sandboxes share one kernel user, whose allowance of pipe
  // memory one of them may have used up.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error = errno;
    return std::nullopt;
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) Supervise(setup, theirs.get());
  if (pid < 0) {
    error = errno;
    return std::nullopt;
  }
  return Supervisor(pid, std::move(ours));
}

std::optional<Report> Supervisor::NextReport() {
  Report report;
  const ssize_t size = ::recv(reports_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (size != static_cast<ssize_t>(sizeof report)) return std::nullopt;
  return report;
}

}  // namespace sandkeep::init
