#include "agent/init/supervisor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "agent/init/hand_over.h"
#include "agent/init/supervise.h"

namespace sandkeep::init {

std::optional<Supervisor::Ends> Supervisor::MakeEnds(int& error) {
  // A socket pair and not a pipe: all sandboxes share one kernel user, whose allowance of pipe
  // memory one of them may have used up.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error = errno;
    return std::nullopt;
  }
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::optional<Supervisor> Supervisor::Fork(CommandSetup& setup, int& error) {
  std::optional<Ends> ends = MakeEnds(error);
  if (!ends.has_value()) return std::nullopt;
  const pid_t pid = ::fork();
  if (pid == 0) Supervise(setup, ends->theirs.get());
  if (pid < 0) {
    error = errno;
    return std::nullopt;
  }
  return Supervisor(pid, std::move(ends->ours), std::move(ends->theirs));
}

std::optional<Supervisor> Supervisor::ForkSpare(const std::string& workspace, int& error) {
  std::optional<Ends> ends = MakeEnds(error);
  if (!ends.has_value()) return std::nullopt;
  const pid_t pid = ::fork();
  if (pid == 0) WaitAndSupervise(workspace, ends->theirs.get());
  if (pid < 0) {
    error = errno;
    return std::nullopt;
  }
  return Supervisor(pid, std::move(ends->ours), std::move(ends->theirs));
}

bool Supervisor::HandOver(const CommandSetup& setup) { return SendCommand(reports_.get(), setup); }

bool Supervisor::untaken() const {
  char byte = 0;
  return ::recv(theirs_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

std::optional<Report> Supervisor::NextReport() {
  Report report;
  const ssize_t size = ::recv(reports_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (size != static_cast<ssize_t>(sizeof report)) return std::nullopt;
  return report;
}

}  // namespace sandkeep::init
