// What is free on this machine. Calls may wait for the disk: not on an I/O thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandkeep {

// For this user, on the file system that `path` is on.
absl::StatusOr<std::int64_t> DiskFreeBytes(const std::string& path);

struct HostReading {
  std::int64_t disk_free = 0;
  std::int64_t disk_total = 0;        // That this user could have.
  std::int64_t memory_available = 0;  // 0: the kernel doesn't say.
  // Of the last ten seconds, the share in percent in which everybody waited for memory.
  int memory_pressure = 0;
};

// `path` is on the file system of the sandboxes' files.
absl::StatusOr<HostReading> ReadHostFrom(const std::string& path);

// From the text of /proc/pressure/memory; 0: it doesn't say.
int MemoryPressure(std::string_view text);

}  // namespace sandkeep
