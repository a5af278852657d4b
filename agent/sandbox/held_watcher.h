// A reader of a job that keeps the job's sandbox from being frozen as long as somebody reads and
// there is something to come. Wraps the table's watcher; the same rules.
#pragma once

#include <memory>

#include "agent/jobs/job_table.h"

namespace sandkeep {

// Lets go of `hold` at the job's end, or at the reader's.
std::unique_ptr<JobWatcher> MakeHeldWatcher(std::unique_ptr<JobWatcher> watcher,
                                            std::shared_ptr<void> hold);

}  // namespace sandkeep
