// What is free on this machine. Calls may wait for the disk: not on an I/O thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace sandkeep {

// For this user, on the file system that `path` is on.
absl::StatusOr<std::int64_t> DiskFreeBytes(const std::string& path);

// MemAvailable; 0 if the kernel doesn't say.
std::int64_t MemoryAvailableBytes();

}  // namespace sandkeep
