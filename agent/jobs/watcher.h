// One reader of one job, by raw offset. Pulls from the spool's file: nothing is read ahead, and the
// job doesn't know of it.
//
// A job with two streams has an offset for each; the one given counts for both, so that a caller
// who resumes takes the smaller and drops by offset what it has.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "agent/jobs/job_entry.h"
#include "agent/jobs/job_table.h"
#include "agent/jobs/port_news.h"

namespace sandkeep {

// InvalidArgument: a negative offset. OutOfRange: past the end of what there is.
absl::StatusOr<std::unique_ptr<JobWatcher>> MakeWatcher(boost::asio::any_io_executor strand,
                                                        boost::asio::any_io_executor disk,
                                                        std::shared_ptr<JobEntry> job,
                                                        std::shared_ptr<PortNews> ports,
                                                        std::int64_t from_offset, bool follow);

}  // namespace sandkeep
