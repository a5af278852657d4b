// Every pipe of one job, from its making to its way to init.
#pragma once

#include "absl/status/statusor.h"
#include "agent/init_link/init_link.h"
#include "agent/jobs/job.h"
#include "agent/jobs/pipe.h"
#include "agent/jobs/standby.h"

namespace sandkeep {

struct JobPipes {
  Pipe out;
  Pipe err;  // Not valid: both streams go into one pipe.
  Pipe in;   // Not valid: /dev/null. `theirs` alone: a file with all of the input.
};

// Those that the job asks for. ResourceExhausted: no more descriptors or memory for pipes.
absl::StatusOr<JobPipes> MakePipes(const JobSpec& spec);

// Those of a shell that is there already; init has its ends.
absl::StatusOr<JobPipes> PipesOf(StandbyShell& shell);

// Takes what of both is init's.
InitStart StartOf(JobSpec& spec, JobPipes& pipes);

}  // namespace sandkeep
