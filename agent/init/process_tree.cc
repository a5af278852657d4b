#include "agent/init/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <unordered_set>

#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

// Of what follows the name: state, parent, …, and the number of threads.
constexpr std::size_t kStateField = 0;
constexpr std::size_t kParentField = 1;
constexpr std::size_t kThreadsField = 17;

bool ParseNumber(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Process> ReadStat(int proc, const std::string& pid) {
  const UniqueFd file(::openat(proc, (pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  // Up to the number of threads a line is far shorter.
  std::array<char, 512> text;
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return ParseStat({text.data(), static_cast<std::size_t>(size)});
}

struct ByParent {
  bool operator()(const Process& a, const Process& b) const { return a.parent < b.parent; }
  bool operator()(const Process& a, pid_t parent) const { return a.parent < parent; }
  bool operator()(pid_t parent, const Process& b) const { return parent < b.parent; }
};

}  // namespace

std::optional<Process> ParseStat(std::string_view text) {
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const std::vector<std::string_view> fields = Split(text.substr(close + 2), ' ');
  Process process;
  if (fields.size() <= kThreadsField || fields[kStateField].size() != 1 ||
      !ParseNumber(text.substr(0, open), process.pid) ||
      !ParseNumber(fields[kParentField], process.parent) ||
      !ParseNumber(fields[kThreadsField], process.threads)) {
    return std::nullopt;
  }
  process.state = fields[kStateField].front();
  return process;
}

ProcessTree ProcessTree::Snapshot() {
  std::vector<Process> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (proc == nullptr) return ProcessTree({});
  while (const dirent* entry = ::readdir(proc.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::optional<Process> process = ReadStat(::dirfd(proc.get()), entry->d_name);
    if (process.has_value()) processes.push_back(*process);
  }
  return ProcessTree(std::move(processes));
}

ProcessTree::ProcessTree(std::vector<Process> processes) : by_parent_(std::move(processes)) {
  std::sort(by_parent_.begin(), by_parent_.end(), ByParent());
}

std::vector<Process> ProcessTree::ChildrenOf(pid_t parent) const {
  const auto [first, last] =
      std::equal_range(by_parent_.begin(), by_parent_.end(), parent, ByParent());
  return {first, last};
}

std::vector<Process> ProcessTree::LivingBelow(const std::vector<pid_t>& roots) const {
  // Pids are reused while /proc is read, so the picture may hold a circle: nobody is seen twice.
  std::unordered_set<pid_t> seen(roots.begin(), roots.end());
  std::vector<pid_t> parents(roots.begin(), roots.end());
  std::vector<Process> living;
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const Process& child : ChildrenOf(parent)) {
      if (!seen.insert(child.pid).second) continue;
      parents.push_back(child.pid);
      if (child.living()) living.push_back(child);
    }
  }
  return living;
}

pid_t ParentOf(pid_t pid) {
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc) return 0;
  const std::optional<Process> process = ReadStat(proc.get(), std::to_string(pid));
  return process.has_value() ? process->parent : 0;
}

}  // namespace sandkeep::init
