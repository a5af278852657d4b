#include "agent/jobs/standby.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

bool Suits(const JobSpec& spec) {
  return spec.command.size() <= kMaxStandbyCommandBytes && spec.cwd.empty() && spec.env.empty() &&
         spec.stdin_text.empty() && !spec.keep_stdin && spec.merge_streams;
}

// It has its end of the pipe, and so will read.
bool Waits(const UniqueFd& ready) {
  pollfd state{ready.get(), POLLOUT, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLERR) == 0;
}

// A second descriptor of the same file.
absl::StatusOr<UniqueFd> Copy(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return ErrnoStatus(errno, "copying a descriptor");
  return copy;
}

}  // namespace

void StandbyShell::Release() {
  // Should it have died since, init says so of the job.
  (void)!::write(ready.get(), "\n", 1);
  ready.Reset();
}

void Standby::Make(InitLink& link) {
  if (shell_.has_value()) return;
  const absl::Status asked = Ask(link);
  // The next command only takes a little longer.
  if (!asked.ok()) Log(Severity::kInfo, "job.no_standby", {{"why", asked}});
}

absl::Status Standby::Ask(InitLink& link) {
  int error = 0;
  std::optional<SealedText> text = SealedText::Create(kMaxStandbyCommandBytes, error);
  if (!text.has_value()) return ErrnoStatus(error, "making a file for a command");
  ASSIGN_OR_RETURN(Pipe out, MakeOutputPipe());
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return ErrnoStatus(errno, "making a pipe");
  StandbyShell shell{JobId::Random(random_), std::move(out), *std::move(text), UniqueFd(ready[1])};
  InitStandby theirs{.id = shell.id,
                     .stdout_write = std::move(shell.out.theirs),
                     .stdout_read = std::move(shell.out.kept),
                     .text = {},
                     .ready = UniqueFd(ready[0])};
  ASSIGN_OR_RETURN(theirs.text, Copy(shell.text.fd()));
  RETURN_IF_ERROR(link.StandBy(std::move(theirs)));
  ids_.insert(shell.id);
  shell_ = std::move(shell);
  return absl::OkStatus();
}

std::optional<StandbyShell> Standby::Take(const JobSpec& spec) {
  std::optional<StandbyShell> shell = std::exchange(shell_, std::nullopt);
  if (!shell.has_value() || !Suits(spec) || !Waits(shell->ready)) return std::nullopt;
  if (!shell->text.Append(spec.command).ok() || !shell->text.Seal().ok()) return std::nullopt;
  return shell;
}

void Standby::OnExited(const JobId& id) {
  if (shell_.has_value() && shell_->id == id) shell_.reset();
}

bool Standby::OnGone(const JobId& id) {
  OnExited(id);
  return ids_.erase(id) > 0;
}

void Standby::Clear() {
  shell_.reset();
  ids_.clear();
}

}  // namespace sandkeep
