// The jobs of one sandbox. Lives on the sandbox's strand; every method is called and resumes there.
//
// What holds, whatever dies when:
// - a job id runs at most once: Start with a known id returns that job;
// - a job's row is committed before init hears of it, its outcome before init is told to forget it;
// - no byte of output is lost or doubled by a restart of the agent: the spool's size is the offset;
// - a watcher that is slow or gone changes nothing for the job.
//
// Spools are `<spool_dir>/<job id in hex>.out` and, with two streams, `.err`. Destroying the table
// is like the agent's death: nothing is ended, and another table takes over by Attach.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/init_link/init_link.h"
#include "agent/jobs/job.h"
#include "agent/jobs/settled_jobs.h"
#include "agent/store/store.h"
#include "common/async.h"
#include "common/clock.h"
#include "common/limits.h"

namespace sandkeep {

struct JobLimits {
  std::int64_t spool_bytes = 64 << 20;  // JOB_SPOOL_MAX
  absl::Duration background = absl::Hours(12);
};

// One reader of one job. Pull only: nothing is read ahead, so a slow one costs nothing. May be used
// from any executor (one Next at a time, which resumes there), and may outlive its table.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  // The next event; waits for it when following. Cancellable by the coroutine's cancellation slot.
  // After kOutcome or kEndOfWhatThereIs: OutOfRange. Unavailable: the table is gone.
  virtual Async<JobEvent> Next() = 0;
};

class JobTable {
 public:
  virtual ~JobTable() = default;

  // Done when the job is recorded and on its way to init; an init that refuses it makes an outcome.
  // FailedPrecondition: nothing is attached. ResourceExhausted: too many jobs, or no pipes.
  virtual Async<JobSnapshot> Start(JobSpec spec) = 0;

  // NotFound: no such job in this sandbox.
  virtual absl::StatusOr<JobSnapshot> Find(const JobId& id) const = 0;
  virtual absl::StatusOr<JobSnapshot> Newest() const = 0;
  // From any thread. nullopt: only the strand knows.
  virtual std::optional<SettledJob> FindSettled(const JobId& id) const = 0;
  // Newest first.
  virtual std::vector<JobSnapshot> List(int limit) const = 0;

  // Of a job with two streams the offset counts for each. InvalidArgument: negative. OutOfRange:
  // past the end of what there is.
  virtual absl::StatusOr<std::unique_ptr<JobWatcher>> Watch(const JobId& id,
                                                            std::int64_t from_offset,
                                                            bool follow) = 0;

  // All of `data` or nothing. ResourceExhausted: the command doesn't read. FailedPrecondition: its
  // input is closed.
  virtual Async<std::int64_t> SendInput(JobId id, std::string data, bool end) = 0;
  // Signals the whole tree, left-behind processes too; SIGKILL follows after `grace` unless that is
  // zero. `cancel` makes the outcome "cancelled". Returns at once; a watcher sees the end.
  virtual Async<JobSnapshot> Signal(JobId id, int signal, absl::Duration grace, bool cancel) = 0;

  // A new container's init, or one taken back after a restart: jobs that it still has are adopted,
  // the others that were running end with `lost`. DataLoss: init lied. After an error nothing is
  // attached, and what ran is as it was.
  virtual Async<void> Attach(RunningContainer container, Outcome lost) = 0;

  // The container is gone: every running job ends with `lost`.
  virtual Async<void> Detach(Outcome lost) = 0;

  // Has init stop or continue every process: the way to freeze where the kernel has none.
  // Unavailable: nothing is attached.
  virtual absl::Status Freeze(bool frozen) = 0;

  // Stops every process of the jobs that live, but for those that began later than this. Again: as
  // JobEntry::Pause.
  virtual void Pause(const std::string& reason, absl::Time began_until) = 0;
  // All that live go on.
  virtual void GoOn() = 0;

  // Drops rows and spools of jobs that ended before this, left nothing behind, and that nobody
  // reads.
  virtual Async<void> Forget(absl::Time ended_before) = 0;

  // The workspace was written to from outside: no command runs in a shell that began before.
  virtual void RenewStandby() = 0;

  // A line for the model that nobody was told yet: a port that began to listen.
  virtual std::optional<std::string> TakeNews() = 0;

  // What is kept of its jobs' output.
  virtual std::int64_t output_bytes() const = 0;
  // When the first job ended whose output could go. The infinite future: there is none.
  virtual absl::Time oldest_output() const = 0;
  // Drops row and spools of that job.
  virtual Async<void> ForgetOldest() = 0;
  // Keeps half as much as now of the running job that holds most; its head and its end stay. False:
  // none holds more than kLeastSpoolBytes.
  virtual Async<bool> NarrowLargest() = 0;

  // The store knows every end. Until it does, only a running init could tell the next agent of it.
  virtual bool all_recorded() const = 0;

  // Jobs that run, and jobs that ended but left processes behind.
  virtual int running() const = 0;
  virtual int left_behind() const = 0;
};

// What the table tells its sandbox, on the strand, never from inside a call.
class JobTableEvents {
 public:
  virtual ~JobTableEvents() = default;
  // A job started, ended, or its last process went: the time to look at idleness again.
  virtual void OnActivity() = 0;
  // Init died or lied; nothing is attached any more.
  virtual void OnInitBroken(absl::Status why) = 0;
};

// `spool_dir` exists and is the agent's alone. `known` are this sandbox's rows from the store.
// `disk` runs reads that would wait for the disk: a small thread pool, one for all sandboxes.
// Store, clock, random and `events` outlive the table.
std::unique_ptr<JobTable> MakeJobTable(boost::asio::any_io_executor strand, Store& store,
                                       Clock& clock, Random& random, JobLimits limits,
                                       SandboxKey sandbox, std::string spool_dir,
                                       std::vector<JobRow> known, boost::asio::any_io_executor disk,
                                       JobTableEvents& events);

}  // namespace sandkeep
