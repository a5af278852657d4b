#include "agent/runtime/limits_in_force.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/settings.h"
#include "common/status_codes.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::int64_t kCpuPeriod = 100'000;  // Microseconds; the kernel's own default.

// Collects what was wrong.
class Check {
 public:
  Check(const std::string& root, const std::string& group) : folder_(StrCat(root, group, "/")) {}

  void File(std::string_view name, const std::string& want) {
    const std::string path = StrCat(folder_, name);
    const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxNumberTextBytes);
    if (absl::IsNotFound(text.status())) return;  // Of a kernel without it.
    const std::string_view is = text.ok() ? FirstLine(*text) : "unreadable";
    if (is == want) return;
    Add(name, is, WriteKernelFile(path, want));
  }

  void Process(pid_t init, int resource, std::string_view name, std::int64_t most) {
    rlimit now{};
    const auto kind = static_cast<__rlimit_resource>(resource);
    if (::prlimit(init, kind, nullptr, &now) != 0) {
      Add(name, "unreadable", ErrnoStatus(errno, "prlimit"));
      return;
    }
    const auto wanted = static_cast<rlim_t>(most);
    if (now.rlim_max <= wanted) return;
    const rlimit right{.rlim_cur = std::min(now.rlim_cur, wanted), .rlim_max = wanted};
    const bool put = ::prlimit(init, kind, &right, nullptr) == 0;
    const std::string was = now.rlim_max == RLIM_INFINITY ? "unlimited" : StrCat(now.rlim_max);
    Add(name, was, put ? absl::OkStatus() : ErrnoStatus(errno, "prlimit"));
  }

  // A mount in the container's own namespace, which only its next start makes anew.
  void Shm(pid_t init, std::int64_t want) {
    const absl::StatusOr<std::string> text =
        ReadSmallFile(StrCat("/proc/", init, "/mountinfo"), kMaxMountsTextBytes);
    const std::int64_t is = text.ok() ? ShmBytes(*text) : 0;
    if (is == 0 || is == want) return;
    Add("/dev/shm", StrCat(is, " bytes"),
        absl::FailedPreconditionError("its size is fixed when it is mounted"));
  }

  std::vector<std::string> wrong;

 private:
  static std::string_view FirstLine(std::string_view text) {
    return text.substr(0, text.find('\n'));
  }
  void Add(std::string_view name, std::string_view was, const absl::Status& put) {
    wrong.push_back(put.ok()
                        ? StrCat(name, " was ", was)
                        : StrCat(name, " was ", was, ", and still is: ", ToStd(put.message())));
  }

  const std::string folder_;
};

}  // namespace

std::vector<std::string> PutLimitsRight(const std::string& root, const std::string& group,
                                        pid_t init, const WantedLimits& wanted) {
  Check check(root, group);
  if (!group.empty() && wanted.cgroup.memory) {
    // The kernel counts in pages.
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    check.File("memory.max", StrCat(wanted.memory_bytes / page * page));
    check.File("memory.swap.max", "0");
  }
  if (!group.empty() && wanted.cgroup.cpu) {
    check.File("cpu.max", StrCat(wanted.cpus * kCpuPeriod, " ", kCpuPeriod));
  }
  if (!group.empty() && wanted.cgroup.pids) check.File("pids.max", StrCat(wanted.processes));
  check.Process(init, RLIMIT_NOFILE, "nofile", wanted.max_files);
  if (wanted.max_processes > 0) {
    check.Process(init, RLIMIT_NPROC, "nproc", wanted.max_processes);
  }
  if (wanted.shm_bytes > 0) check.Shm(init, wanted.shm_bytes);
  return std::move(check.wrong);
}

std::int64_t ShmBytes(std::string_view mountinfo) {
  constexpr std::string_view kPlace = " /dev/shm ";
  constexpr std::string_view kSize = "size=";
  for (const std::string_view line : Split(mountinfo, '\n')) {
    if (line.find(kPlace) == std::string_view::npos) continue;
    const std::size_t at = line.rfind(kSize);
    if (at == std::string_view::npos) return 0;
    const std::string_view rest = line.substr(at + kSize.size());
    return ParseNumber(rest.substr(0, rest.find_first_of(", \n"))).value_or(0);
  }
  return 0;
}

}  // namespace sandkeep
