// Small files of the kernel's and of ours, read and written whole. Blocking: for /proc, /sys and
// tmpfs, or on a thread that may wait for a disk.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandkeep {

// At most `limit` bytes; more is ResourceExhausted. Never follows a symlink, never waits on a FIFO.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t limit);

// In place, one write: for files of the kernel's.
absl::Status WriteKernelFile(const std::string& path, std::string_view text);

// Whole or not at all. kDurable: also after a power cut; it costs two waits for the disk.
enum class Durability { kVolatile, kDurable };
absl::Status ReplaceFile(const std::string& path, std::string_view text, mode_t mode,
                         Durability durability);

}  // namespace sandkeep
