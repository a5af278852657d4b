#include "agent/jobs/job_pipes.h"

#include <utility>

#include "common/status_macros.h"

namespace sandkeep {

absl::StatusOr<JobPipes> MakePipes(const JobSpec& spec) {
  JobPipes pipes;
  ASSIGN_OR_RETURN(pipes.out, MakeOutputPipe());
  if (!spec.merge_streams) {
    ASSIGN_OR_RETURN(pipes.err, MakeOutputPipe());
  }
  if (spec.keep_stdin || !spec.stdin_text.empty()) {
    ASSIGN_OR_RETURN(pipes.in, MakeInputPipe());
    // Init keeps a write end only of an input that stays open: with it the command would never see
    // the end of the other kind.
    if (!spec.keep_stdin) pipes.in.kept.Reset();
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
