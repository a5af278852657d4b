#include "agent/init/sweep.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "agent/init/process_tree.h"
#include "common/limits.h"

namespace sandkeep::init {
namespace {

std::vector<Process> Orphans(const ProcessTree& tree, const std::vector<pid_t>& supervisors) {
  std::vector<Process> orphans;
  std::vector<pid_t> roots;
  for (const Process& child : tree.ChildrenOf(::getpid())) {
    if (std::find(supervisors.begin(), supervisors.end(), child.pid) != supervisors.end()) continue;
    roots.push_back(child.pid);
    if (child.living()) orphans.push_back(child);
  }
  const std::vector<Process> below = tree.LivingBelow(roots);
  orphans.insert(orphans.end(), below.begin(), below.end());
  return orphans;
}

// Fills `result` with what this picture shows.
std::vector<Process> FindTargets(const SweepTargets& targets, SweepResult& result) {
  const ProcessTree tree = ProcessTree::Snapshot();
  std::vector<Process> found = tree.LivingBelow(targets.supervisors);
  if (targets.orphans) {
    const std::vector<Process> orphans = Orphans(tree, targets.living_supervisors);
    result.orphans = !orphans.empty();
    found.insert(found.end(), orphans.begin(), orphans.end());
  }
  result.found = !found.empty();
  return found;
}

bool StopRunning(const std::vector<Process>& processes) {
  bool any = false;
  for (const Process& process : processes) {
    if (process.stopped()) continue;
    any = true;
    ::kill(process.pid, SIGSTOP);
  }
  return any;
}

bool EndsByDefault(int signal) {
  return signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;
}

}  // namespace

// All are stopped before the first is killed: a stopped process can't fork, and keeps its place in
// the process limit, so that those not seen yet run out of places; a killed one frees it for them.
SweepResult Sweep(const SweepTargets& targets) {
  SweepResult result;
  std::vector<Process> found = FindTargets(targets, result);
  for (int pass = 0; pass < kMaxSweepPasses && StopRunning(found); ++pass) {
    found = FindTargets(targets, result);
  }
  for (const Process& process : found) ::kill(process.pid, SIGKILL);
  return result;
}

void SignalBelow(pid_t supervisor, int signal) {
  const std::vector<Process> found = ProcessTree::Snapshot().LivingBelow({supervisor});
  for (const Process& process : found) ::kill(process.pid, signal);
  // A stopped process would see it only when it is continued.
  if (!EndsByDefault(signal)) return;
  for (const Process& process : found) ::kill(process.pid, SIGCONT);
}

}  // namespace sandkeep::init
