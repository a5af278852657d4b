#include "agent/runtime/delegation.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "agent/runtime/cgroup.h"
#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kOwn = "/agent";
constexpr std::string_view kContainers = "/containers";
constexpr std::string_view kControllers[] = {"+memory", "+pids", "+cpu", "+io", "+cpuset"};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Its group is delegated to us, and outlives every agent.
constexpr std::string_view kKeeper = "/sandkeep-containers.service";

// The unit's group. We may stand in a sub-group already: the service manager's doing, or ours.
absl::StatusOr<std::string> UnitOf(std::string_view proc_cgroup) {
  for (const std::string_view line : Split(proc_cgroup, '\n')) {
    if (line.substr(0, 3) != "0::") continue;
    std::string_view path = line.substr(3);
    if (EndsWith(path, kOwn)) path.remove_suffix(kOwn.size());
    if (path.size() > 1) return std::string(path);
  }
  return absl::UnimplementedError("this process is in no cgroup of its own");
}

bool IsWritable(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }

bool IsDelegated(const std::string& path) {
  return IsWritable(path) && IsWritable(StrCat(path, "/cgroup.subtree_control"));
}

// Passable whatever our umask is: the root of a container is nobody to it, and its runtime mounts
// the container's own group by its path.
absl::Status MakeGroup(const std::string& path) {
  constexpr mode_t kMode = 0755;
  if (::mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  if (::chmod(path.c_str(), kMode) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

// Each by itself: one that the host doesn't have must not cost the others.
void Enable(const std::string& group) {
  for (const std::string_view controller : kControllers) {
    WriteKernelFile(StrCat(group, "/cgroup.subtree_control"), controller).IgnoreError();
  }
}

}  // namespace

absl::StatusOr<Delegation> FindDelegation(const std::string& root, std::string_view proc_cgroup) {
  ASSIGN_OR_RETURN(std::string unit, UnitOf(proc_cgroup));
  if (IsDelegated(root + unit)) return Delegation{unit, true};
  const std::string slice = unit.substr(0, unit.rfind('/'));
  std::string keeper = StrCat(slice, kKeeper);
  // A process goes from one group to another with the right to the one that holds both.
  if (IsDelegated(root + keeper) && IsWritable(StrCat(root, slice, "/cgroup.procs"))) {
    return Delegation{std::move(keeper), false};
  }
  return absl::UnimplementedError(StrCat("the cgroup ", unit,
                                         " isn't delegated to the agent (Delegate= in its unit): "
                                         "limits of memory, CPU and processes don't land"));
}

absl::StatusOr<std::string> TakeDelegatedCgroup(const std::string& root,
                                                const std::string& proc_cgroup) {
  struct statfs fs{};
  if (::statfs(root.c_str(), &fs) != 0 || fs.f_type != CGROUP2_SUPER_MAGIC) {
    return absl::UnimplementedError(
        "this host has no cgroup v2: limits of memory, CPU and processes don't land");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(proc_cgroup, kMaxPathBytes));
  ASSIGN_OR_RETURN(const Delegation found, FindDelegation(root, text));
  const std::string path = root + found.group;
  RETURN_IF_ERROR(MakeGroup(StrCat(path, kContainers)));
  if (found.own) {
    RETURN_IF_ERROR(MakeGroup(StrCat(path, kOwn)));
    // First out of the unit's own group: one that has processes gives no controller to those below.
    RETURN_IF_ERROR(WriteKernelFile(StrCat(path, kOwn, "/cgroup.procs"), StrCat(::getpid())));
  }
  Enable(path);
  Enable(StrCat(path, kContainers));
  return StrCat(found.group, kContainers);
}

}  // namespace sandkeep
