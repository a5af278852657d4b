#include "agent/sandbox/host.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "common/status_codes.h"
#include "common/strings.h"

namespace sandkeep {

namespace {

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

}  // namespace

absl::StatusOr<std::int64_t> DiskFreeBytes(const std::string& path) {
  struct statvfs info;
  if (::statvfs(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

absl::StatusOr<HostReading> ReadHostFrom(const std::string& path) {
  struct statvfs info;
  if (::statvfs(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  const auto block = static_cast<std::int64_t>(info.f_frsize);
  // As df counts: what is set aside for root is neither used nor free.
  const auto usable = static_cast<std::int64_t>(info.f_blocks - info.f_bfree + info.f_bavail);
  std::ifstream pressure("/proc/pressure/memory");
  const std::string text{std::istreambuf_iterator<char>(pressure),
                         std::istreambuf_iterator<char>()};
  return HostReading{.disk_free = static_cast<std::int64_t>(info.f_bavail) * block,
                     .disk_total = usable * block,
                     .memory_available = MemoryAvailableBytes(),
                     .memory_pressure = MemoryPressure(text)};
}

int MemoryPressure(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    constexpr std::string_view kFull = "full avg10=";
    if (line.substr(0, kFull.size()) != kFull) continue;
    int percent = 0;
    for (const char digit : line.substr(kFull.size())) {
      if (digit < '0' || digit > '9' || percent > 100) break;
      percent = 10 * percent + (digit - '0');
    }
    return percent;
  }
  return 0;
}

}  // namespace sandkeep
