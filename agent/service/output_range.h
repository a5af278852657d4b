// Gathers one contiguous range of one stream of a job's output from a watcher's events: what
// ReadOutput answers. Plain; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/jobs/job.h"

namespace sandkeep {

class OutputRange {
 public:
  OutputRange(OutputStream stream, std::int64_t offset, std::int64_t limit)
      : stream_(stream), offset_(offset), limit_(static_cast<std::size_t>(limit)) {}

  // It is of that stream's output.
  bool Wants(OutputStream stream) const;
  void Add(JobEvent event);

  // Nothing more belongs to it: full, interrupted by a gap, or the job's end was seen.
  bool whole() const { return whole_; }
  // Of the data; later than asked for when that fell in a gap.
  std::int64_t offset() const { return offset_; }
  const std::vector<JobGap>& gaps() const { return gaps_; }
  std::string data() && { return std::move(data_); }

 private:
  void AddOutput(JobOutput output);

  const OutputStream stream_;
  std::int64_t offset_;
  const std::size_t limit_;
  bool whole_ = false;
  std::string data_;
  std::vector<JobGap> gaps_;
};

}  // namespace sandkeep
