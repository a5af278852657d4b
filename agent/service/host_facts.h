// What GetInfo says that no part of the agent knows by itself: main puts it together from the
// settings. Plain value.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/ids.h"

namespace sandkeep {

struct HostFacts {
  InstanceId instance;
  absl::Time started = {};
  std::string version = {};
  std::string profile = {};  // conversation | persistent
  std::string network = {};  // internet | full | none

  // A zero: no such thing happens in this version.
  absl::Duration max_timeout = {};
  absl::Duration background = {};  // Infinite: no limit.
  absl::Duration idle = {};        // Infinite: never.
  absl::Duration stop_after = {};  // The same.
  absl::Duration keep = {};        // Infinite: for ever.
  std::int64_t memory_bytes = 0;
  std::int64_t cpus_milli = 0;
  std::int64_t pids = 0;
  std::int64_t shm_bytes = 0;
  std::int64_t job_spool_bytes = 0;
  absl::Duration job_keep = {};
  absl::Duration volume_ttl = {};  // Infinite: volumes are kept.
  absl::Duration file_ttl = {};    // Infinite: files are kept.

  // 0: no limit.
  std::int64_t sandbox_disk_bytes = 0;
  std::int64_t principal_disk_bytes = 0;

  int max_running = 0;
  std::int64_t disk_floor_bytes = 0;
  std::int64_t memory_reserve_bytes = 0;
};

}  // namespace sandkeep
