#include "agent/jobs/job_pipes.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "common/sealed_text.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace {

// All of an input that nobody adds to: whole, whatever becomes of us meanwhile.
absl::StatusOr<UniqueFd> MakeInputFile(std::string_view text) {
  int error = 0;
  std::optional<SealedText> file = SealedText::Create(text.size(), error);
  if (!file.has_value()) return ErrnoStatus(error, "making a file for a command's input");
  RETURN_IF_ERROR(file->Append(text));
  RETURN_IF_ERROR(file->Seal());
  UniqueFd reader(::open(StrCat("/proc/self/fd/", file->fd()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader) return ErrnoStatus(errno, "opening a command's input");
  return reader;
}

}  // namespace

absl::StatusOr<JobPipes> MakePipes(const JobSpec& spec) {
  JobPipes pipes;
  ASSIGN_OR_RETURN(pipes.out, MakeOutputPipe());
  if (!spec.merge_streams) {
    ASSIGN_OR_RETURN(pipes.err, MakeOutputPipe());
  }
  if (spec.keep_stdin) {
    ASSIGN_OR_RETURN(pipes.in, MakeInputPipe());
  } else if (!spec.stdin_text.empty()) {
    ASSIGN_OR_RETURN(pipes.in.theirs, MakeInputFile(spec.stdin_text));
  }
  return pipes;
}

absl::StatusOr<JobPipes> PipesOf(StandbyShell& shell) {
  return JobPipes{.out = std::move(shell.out), .err = {}, .in = {}};
}

InitStart StartOf(JobSpec& spec, JobPipes& pipes) {
  return {.id = spec.id,
          .command = std::move(spec.command),
          .cwd = std::move(spec.cwd),
          .env = std::move(spec.env),
          .merge_streams = spec.merge_streams,
          .stdout_write = std::move(pipes.out.theirs),
          .stderr_write = std::move(pipes.err.theirs),
          .stdout_read = std::move(pipes.out.kept),
          .stderr_read = std::move(pipes.err.kept),
          .stdin_read = std::move(pipes.in.theirs),
          .stdin_write = std::move(pipes.in.kept)};
}

}  // namespace sandkeep
