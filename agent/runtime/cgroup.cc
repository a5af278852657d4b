#include "agent/runtime/cgroup.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <charconv>

#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

bool HasWord(std::string_view text, std::string_view word) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (const std::string_view part : Split(text, ' ')) {
    if (part == word) return true;
  }
  return false;
}

// The number on the line that begins with this word. Nothing: there is none.
std::optional<std::uint64_t> CountOf(const absl::StatusOr<std::string>& text,
                                     std::string_view word) {
  if (!text.ok()) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.size() <= word.size() || line.substr(0, word.size()) != word) continue;
    if (line[word.size()] != ' ') continue;
    const std::string_view number = line.substr(word.size() + 1);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error == std::errc() && end == number.data() + number.size()) return count;
  }
  return std::nullopt;
}

// "max" and what can't be read are 0.
std::int64_t LimitIn(const absl::StatusOr<std::string>& text) {
  std::int64_t limit = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), limit);
  return limit;
}

}  // namespace

CgroupSupport ProbeCgroups(const std::string& root, const std::string& parent) {
  CgroupSupport support;
  struct statfs fs{};
  support.v2 = ::statfs(root.c_str(), &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
  if (!support.v2 || parent.empty()) return support;
  // What the parent may give to its children.
  const auto controllers =
      ReadSmallFile(StrCat(root, parent, "/cgroup.controllers"), kMaxKernelTextBytes);
  if (!controllers.ok()) return support;
  support.memory = HasWord(*controllers, "memory");
  support.cpu = HasWord(*controllers, "cpu");
  support.pids = HasWord(*controllers, "pids");
  return support;
}

absl::StatusOr<std::string> ContainerCgroup(std::string_view proc_cgroup) {
  for (const std::string_view line : Split(proc_cgroup, '\n')) {
    if (line.substr(0, 3) != "0::") continue;
    const std::string_view path = line.substr(3);
    if (path.find("/..") != std::string_view::npos) break;
    const std::size_t at = path.rfind("/libpod-");
    if (at == std::string_view::npos) break;
    return std::string(path.substr(0, path.find('/', at + 1)));
  }
  return absl::UnimplementedError("the container has no cgroup of its own");
}

absl::Status SetFrozen(const std::string& root, const std::string& group, bool frozen) {
  return WriteKernelFile(StrCat(root, group, "/cgroup.freeze"), frozen ? "1" : "0");
}

std::optional<KernelCounts> ReadCounts(const std::string& root, const std::string& group) {
  const auto read = [&](std::string_view file) {
    return ReadSmallFile(StrCat(root, group, "/", file), kMaxKernelTextBytes);
  };
  const auto kills = CountOf(read("memory.events"), "oom_kill");
  const auto forks = CountOf(read("pids.events"), "max");
  if (!kills.has_value() || !forks.has_value()) return std::nullopt;
  return KernelCounts{
      .oom_kills = *kills, .failed_forks = *forks, .memory_max = LimitIn(read("memory.max"))};
}

bool IsFrozen(const std::string& root, const std::string& group) {
  const auto text = ReadSmallFile(StrCat(root, group, "/cgroup.events"), kMaxKernelTextBytes);
  return text.ok() && text->find("frozen 1\n") != std::string::npos;
}

}  // namespace sandkeep
