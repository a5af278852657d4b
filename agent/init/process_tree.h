// The processes of this pid namespace as /proc shows them at one moment, and who descends from
// whom. A picture is old when it is taken: a killer takes one again until nothing is left.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

namespace sandkeep::init {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  int threads = 0;

  // A process whose first thread ended looks like a zombie while its other threads live.
  bool living() const { return (state != 'Z' && state != 'X') || threads > 1; }
  bool stopped() const { return state == 'T' || state == 't'; }
};

// The text of /proc/<pid>/stat; the name in it may hold anything, brackets included.
std::optional<Process> ParseStat(std::string_view text);

class ProcessTree {
 public:
  // Empty where /proc can't be read.
  static ProcessTree Snapshot();

  explicit ProcessTree(std::vector<Process> processes);

  std::vector<Process> ChildrenOf(pid_t parent) const;
  // Every living descendant of `roots`; the roots themselves aren't among them.
  std::vector<Process> LivingBelow(const std::vector<pid_t>& roots) const;

 private:
  std::vector<Process> by_parent_;
};

// The parent of one process now; 0: there is no such process.
pid_t ParentOf(pid_t pid);

}  // namespace sandkeep::init
