// The jobs of one sandbox. Lives on the sandbox's strand; every method is called and resumes there.
//
// What holds, whatever dies when:
// - a job id runs at most once: Start with a known id returns that job;
// - a job's row is committed before init hears of it, its outcome before init is told to forget it;
// - no byte of output is lost or doubled by a restart of the agent: the spool's size is the offset;
// - a watcher that is slow or gone changes nothing for the job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/init_link/init_link.h"
#include "agent/jobs/job.h"
#include "agent/store/store.h"
#include "common/async.h"
#include "common/clock.h"

namespace sandkeep {

struct JobLimits {
  std::int64_t spool_bytes = 64 << 20;  // JOB_SPOOL_MAX
  absl::Duration background = absl::Hours(12);
};

// One reader of one job. Pull only: nothing is read ahead, so a slow one costs nothing.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  // The next event; waits for it when following. Cancellable by the coroutine's cancellation slot.
  // After kOutcome or kEndOfWhatThereIs: OutOfRange.
  virtual Async<JobEvent> Next() = 0;
};

class JobTable {
 public:
  virtual ~JobTable() = default;

  virtual Async<JobSnapshot> Start(JobSpec spec) = 0;

  // NotFound: no such job in this sandbox.
  virtual absl::StatusOr<JobSnapshot> Find(const JobId& id) const = 0;
  virtual absl::StatusOr<JobSnapshot> Newest() const = 0;
  // Newest first.
  virtual std::vector<JobSnapshot> List(int limit) const = 0;

  virtual absl::StatusOr<std::unique_ptr<JobWatcher>> Watch(const JobId& id,
                                                            std::int64_t from_offset,
                                                            bool follow) = 0;

  virtual Async<std::int64_t> SendInput(JobId id, std::string data, bool end) = 0;
  // Ends (or signals) the whole tree; `cancel` makes the outcome "cancelled".
  virtual Async<JobSnapshot> Signal(JobId id, int signal, absl::Duration grace, bool cancel) = 0;

  // A new container's init, or one taken back after a restart: jobs that it still has are adopted,
  // the others that were running end with `lost`.
  virtual Async<void> Attach(RunningContainer container, Outcome lost) = 0;

  // The container is gone: every running job ends with `lost`.
  virtual Async<void> Detach(Outcome lost) = 0;

  // Jobs that run, and jobs that ended but left processes behind.
  virtual int running() const = 0;
  virtual int left_behind() const = 0;
};

// What the table tells its sandbox.
class JobTableEvents {
 public:
  virtual ~JobTableEvents() = default;
  // A job started, ended, or its last process went: the time to look at idleness again.
  virtual void OnActivity() = 0;
  // Init died or lied.
  virtual void OnInitBroken(absl::Status why) = 0;
};

// `spool_dir` exists and is the agent's alone. `known` are this sandbox's rows from the store.
std::unique_ptr<JobTable> MakeJobTable(boost::asio::any_io_executor strand, Store& store,
                                       Clock& clock, Random& random, JobLimits limits,
                                       SandboxKey sandbox, std::string spool_dir,
                                       std::vector<JobRow> known, JobTableEvents& events);

}  // namespace sandkeep
