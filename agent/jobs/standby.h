// The shell that waits in a sandbox for its next command, so that the command doesn't wait for a
// shell: making one takes four times as long as all the rest. Its output's pipe is there before it.
//
// It must not be told from a shell made for the command. So init starts it when nothing of a
// command lives in the sandbox any more, it serves the very next command, and only one that asks
// for nothing special; any other ends it, since that may change what a shell reads when it starts.
//
// A file of the workspace that is written from outside may be one that a shell reads, too: the one
// that waits then is replaced.
//
// Of one table, on its strand. Trust: init and the shell are hostile; both get nothing here but a
// pipe's end and a file that no other reads.
#pragma once

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "agent/init_link/init_link.h"
#include "agent/jobs/job.h"
#include "agent/jobs/pipe.h"
#include "common/random.h"
#include "common/sealed_text.h"

namespace sandkeep {

// What we have of such a shell. Destroying it ends the shell.
struct StandbyShell {
  JobId id;
  Pipe out;  // Ours; init has the rest.
  SealedText text;
  UniqueFd ready;

  // Its command is written: it begins.
  void Release();
};

class Standby {
 public:
  explicit Standby(Random& random) : random_(random) {}

  // Asks for one, unless there is one.
  void Make(InitLink& link);

  // The shell that has the command written to it. Nothing: start one for it; the one there was
  // isn't any more.
  std::optional<StandbyShell> Take(const JobSpec& spec);

  // Ends the one there is, if any: the next command gets its own, or another one that Make asks
  // for.
  void Drop() { shell_.reset(); }

  // Its id names a job now.
  void Used(const JobId& id) { ids_.erase(id); }

  // Init says that nothing lives of it. True: it was one of ours, and not a job.
  bool OnGone(const JobId& id);
  void OnExited(const JobId& id);

  // With the link.
  void Clear();

 private:
  absl::Status Ask(InitLink& link);

  Random& random_;
  std::optional<StandbyShell> shell_;
  // Those that init still has, and that no job has become of.
  absl::flat_hash_set<JobId> ids_;
};

}  // namespace sandkeep
