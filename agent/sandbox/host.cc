#include "agent/sandbox/host.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <fstream>

#include "common/status_codes.h"

namespace sandkeep {

absl::StatusOr<std::int64_t> DiskFreeBytes(const std::string& path) {
  struct statvfs info;
  if (::statvfs(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

std::int64_t MemoryAvailableBytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  std::string unit;
  while (meminfo >> name >> kib) {
    if (name == "MemAvailable:") return kib << 10;
    std::getline(meminfo, unit);
  }
  return 0;
}

}  // namespace sandkeep
