// A job is its whole tree: what is left behind is counted, what is to die dies, whatever it does.

#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <thread>

#include "agent/init/process_tree.h"
#include "tests/unit/agent/init/init_test.h"

namespace sandkeep::init {
namespace {

class TreeTest : public InitTest {
 protected:
  // Everything inside but PID 1 and its supervisors, of which one waits for a command.
  std::vector<Process> Inside() const {
    std::vector<Process> inside = ProcessTree::Snapshot().LivingBelow({init_->pid()});
    std::erase_if(inside, [](const Process& process) { return IsSupervisor(process.pid); });
    return inside;
  }

  // By its name, or init's that it has at first. One that ended just now is nothing any more.
  static bool IsSupervisor(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    return !std::getline(file, name) || name == "sandkeep-job" || name == "sandkeep-init";
  }

  // The supervisor that waits for a command: while none runs, init's only child.
  pid_t AwaitSpare() const {
    for (;;) {
      const auto children = ProcessTree::Snapshot().ChildrenOf(init_->pid());
      if (children.size() == 1 && children[0].state == 'S' && IsNamed(children[0].pid)) {
        return children[0].pid;
      }
      std::this_thread::yield();
    }
  }

  // It takes its name when it is ready, or nearly.
  static bool IsNamed(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    return std::getline(file, name) && name == "sandkeep-job";
  }

  bool AnyRunning() const {
    const ProcessTree tree = ProcessTree::Snapshot();
    for (const Process& supervisor : tree.ChildrenOf(init_->pid())) {
      for (const Process& process : tree.LivingBelow({supervisor.pid})) {
        if (!process.stopped()) return true;
      }
    }
    return false;
  }

  void ExpectKilledWhole(const RunningJob& job) {
    agent_->Signal(job, SIGKILL, true);
    agent_->WaitGone(job);
    EXPECT_TRUE(Inside().empty());
    ExpectInitServes();
  }
  void ExpectRunsThoughHandedToADead(pid_t spare) {
    // Init hears of the death after it has handed over.
    ASSERT_EQ(::kill(init_->pid(), SIGSTOP), 0);
    ASSERT_EQ(::kill(spare, SIGKILL), 0);
    const RunningJob job = agent_->Begin("echo ran; exit 4");
    ASSERT_EQ(::kill(init_->pid(), SIGCONT), 0);
    const Outcome outcome = agent_->WaitExited(job);
    EXPECT_EQ(outcome.exit_code(), 4);
    EXPECT_FALSE(outcome.supervisor_lost);
    EXPECT_EQ(ReadAll(job.output), "ran\n");
  }
};

TEST_F(TreeTest, ReportsTheExitAtOnceWhenAProcessIsLeftBehind) {
  const RunningJob job = agent_->Start("sleep 1000 & echo started");
  const Outcome outcome = agent_->WaitExited(job);
  EXPECT_EQ(outcome.exit_code(), 0);
  EXPECT_EQ(outcome.left_behind, 1);
  agent_->Ping();
  EXPECT_FALSE(agent_->Has([](const v1::FromInit& frame) { return frame.has_gone(); }));

  agent_->Signal(job, SIGTERM, true);

  agent_->WaitGone(job);
  EXPECT_TRUE(Inside().empty());
}

TEST_F(TreeTest, LeavesWhatWasLeftBehindAloneAndItsOutputWhole) {
  const RunningJob job =
      agent_->Start("(while [ ! -e go ]; do sleep 0.01; done; echo late) & echo early");
  EXPECT_GE(agent_->WaitExited(job).left_behind, 1);
  EXPECT_EQ(ReadLine(job.output), "early");
  EXPECT_EQ(agent_->RunToEnd("touch go").exit_code(), 0);
  EXPECT_EQ(ReadAll(job.output), "late\n");
  agent_->WaitGone(job);
}

TEST_F(TreeTest, KillsADaemonThatForkedTwiceAndLeftItsSession) {
  const RunningJob job = agent_->Start(Testcase("daemoniser"));
  // The daemon, and perhaps still who forked it.
  EXPECT_GE(agent_->WaitExited(job).left_behind, 1);
  ExpectKilledWhole(job);
}

TEST_F(TreeTest, KillsWhatIgnoresEverySignal) {
  const RunningJob job = agent_->Start(Testcase("stubborn") + "; echo never");
  ReadLine(job.output);
  agent_->Signal(job, SIGTERM, false);
  agent_->Signal(job, SIGINT, true);
  agent_->Ping();
  EXPECT_FALSE(Inside().empty());
  ExpectKilledWhole(job);
}

TEST_F(TreeTest, KillsAForkBombWhileOtherCommandsRun) {
  const RunningJob bomb = agent_->Start(Testcase("fork_bomb") + " 64");
  EXPECT_EQ(ReadLine(bomb.output), "full");
  ExpectInitServes();
  ExpectKilledWhole(bomb);
}

TEST_F(TreeTest, KillsAProcessWhoseFirstThreadIsGone) {
  const RunningJob job = agent_->Start(Testcase("leaderless"));
  ReadLine(job.output);
  ExpectKilledWhole(job);
}

TEST_F(TreeTest, KillsASiblingOfTheCommand) {
  const RunningJob job = agent_->Start("exec " + Testcase("clone_sibling"));
  EXPECT_EQ(agent_->WaitExited(job).left_behind, 1);
  ExpectKilledWhole(job);
}

TEST_F(TreeTest, KillsWhatIsStopped) {
  const RunningJob job = agent_->Start("sleep 1000 & kill -STOP $!; echo stopped; wait");
  EXPECT_EQ(ReadLine(job.output), "stopped");
  ExpectKilledWhole(job);
}

TEST_F(TreeTest, EndsAStoppedProcessBySigterm) {
  const RunningJob job = agent_->Start("sleep 1000 & kill -STOP $!; exit");
  EXPECT_EQ(agent_->WaitExited(job).left_behind, 1);
  agent_->Signal(job, SIGTERM, true);
  agent_->WaitGone(job);
}

TEST_F(TreeTest, KillsOneJobAndNoOther) {
  const RunningJob other = agent_->Start("read -r line; exit 5", {.stdin_pipe = true});
  const RunningJob job = agent_->Start("setsid sleep 1000 & sleep 1000");
  agent_->Signal(job, SIGKILL, true);
  agent_->WaitGone(job);
  ASSERT_EQ(::write(other.input.get(), "\n", 1), 1);
  EXPECT_EQ(agent_->WaitExited(other).exit_code(), 5);
}

TEST_F(TreeTest, KillsAJobThatHasOnlyJustBeenAskedFor) {
  const RunningJob job = agent_->Begin("sleep 1000 & sleep 1000");
  agent_->Signal(job, SIGKILL, true);
  agent_->WaitGone(job);
  EXPECT_TRUE(Inside().empty());
}

TEST_F(TreeTest, SignalsTheCommandAlone) {
  const RunningJob job =
      agent_->Start("trap 'echo caught; exit 3' USR1; sleep 1000 & echo ready; wait");
  EXPECT_EQ(ReadLine(job.output), "ready");
  agent_->Signal(job, SIGUSR1, false);
  const Outcome outcome = agent_->WaitExited(job);
  EXPECT_EQ(outcome.exit_code(), 3);
  EXPECT_EQ(outcome.left_behind, 1);
  ExpectKilledWhole(job);
}

TEST_F(TreeTest, SweepsTheTreeOfASupervisorThatWasKilled) {
  const RunningJob job = agent_->Start("setsid sleep 1000 & echo ready; kill -9 $PPID; sleep 1000");
  const Outcome outcome = agent_->WaitExited(job);
  EXPECT_TRUE(outcome.supervisor_lost);
  EXPECT_EQ(outcome.signal(), SIGKILL);
  agent_->WaitGone(job);
  EXPECT_TRUE(Inside().empty());
  ExpectInitServes();
}

TEST_F(TreeTest, SweepsWhatWasLeftBehindWhenItsSupervisorIsKilled) {
  const RunningJob other = agent_->Start("read -r line; exit 5", {.stdin_pipe = true});
  const RunningJob job = agent_->Start("echo $PPID; sleep 1000 &");
  const std::string supervisor = ReadLine(job.output);
  EXPECT_EQ(agent_->WaitExited(job).left_behind, 1);
  EXPECT_EQ(agent_->RunToEnd("kill -9 " + supervisor).exit_code(), 0);
  agent_->WaitGone(job);
  ASSERT_EQ(::write(other.input.get(), "\n", 1), 1);
  EXPECT_EQ(agent_->WaitExited(other).exit_code(), 5);
}

TEST_F(TreeTest, ContinuesASupervisorThatWasStopped) {
  EXPECT_EQ(agent_->RunToEnd("kill -STOP $PPID; exit 6").exit_code(), 6);
}

TEST_F(TreeTest, LeavesNoZombieAfterManyCommands) {
  std::vector<RunningJob> jobs;
  for (int i = 0; i < 300; ++i) {
    jobs.push_back(agent_->Begin(i % 3 == 0 ? "(true &) ; (true &)" : "true | true"));
    if (jobs.size() < 10) continue;
    for (const RunningJob& job : jobs) {
      agent_->WaitGone(job);
      agent_->Forget(job);
    }
    jobs.clear();
  }
  AwaitSpare();
}

TEST_F(TreeTest, ReplacesTheSupervisorThatWaitsWhenItIsKilled) {
  const pid_t first = AwaitSpare();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  while (AwaitSpare() == first) std::this_thread::yield();
  ExpectInitServes();
}

TEST_F(TreeTest, ContinuesTheSupervisorThatWaitsWhenItIsStopped) {
  ASSERT_EQ(::kill(AwaitSpare(), SIGSTOP), 0);
  ExpectInitServes();
}

TEST_F(TreeTest, RunsACommandThatWasHandedToADeadSupervisor) {
  ExpectRunsThoughHandedToADead(AwaitSpare());
}

TEST_F(TreeTest, UsesASupervisorAgainOnceNothingOfItsTreeLives) {
  const RunningJob bystander = agent_->Start("sleep 1000");
  std::string first;
  std::string second;
  agent_->RunToEnd("echo $PPID", &first);
  agent_->RunToEnd("echo $PPID", &second);
  EXPECT_EQ(second, first);
}

TEST_F(TreeTest, LeavesNothingOfACommandToTheNextOneOfItsSupervisor) {
  const std::string look =
      "echo $PPID; pwd; umask; ulimit -a; env | sort; trap; ls /proc/self/fd; readlink "
      "/proc/self/fd/0; cat /proc/self/oom_score_adj; grep -E '^(Sig[^Q]|Shd)' /proc/self/status; "
      "read -r _ _ _ _ _ sid _ </proc/$$/stat; [[ $sid == $$ ]] && echo leads; cat "
      "/proc/$PPID/oom_score_adj; readlink /proc/$PPID/cwd";
  const RunningJob bystander = agent_->Start("sleep 1000");
  std::string before;
  std::string after;
  agent_->RunToEnd(look, &before);
  const RunningJob other = agent_->Start(
      "trap '' TERM; umask 0; cd /; ulimit -n 50; exec 9<.; read -r line; exit 3",
      {.cwd = "/tmp", .env = {{"OTHERS", "secret"}}, .merge_streams = false, .stdin_pipe = true});
  ASSERT_EQ(::write(other.input.get(), "\n", 1), 1);
  EXPECT_EQ(agent_->WaitExited(other).exit_code(), 3);
  // Nobody holds its ends any more.
  EXPECT_EQ(ReadAll(other.output) + ReadAll(other.error_output), "");
  agent_->WaitGone(other);
  agent_->RunToEnd(look, &after);
  EXPECT_EQ(after, before);
}

TEST_F(TreeTest, RunsACommandThatWasHandedToASupervisorThatDiedAfterItHadServed) {
  ASSERT_EQ(agent_->RunToEnd("true").exit_code(), 0);
  // The one that served last is the one that stays.
  ExpectRunsThoughHandedToADead(AwaitSpare());
}

TEST_F(TreeTest, KeepsNoMoreSupervisorsThanItNeeds) {
  std::vector<RunningJob> jobs;
  jobs.reserve(30);
  for (int i = 0; i < 30; ++i) jobs.push_back(agent_->Start("read -r line", {.stdin_pipe = true}));
  for (const RunningJob& job : jobs) {
    ASSERT_EQ(::write(job.input.get(), "\n", 1), 1);
    agent_->WaitGone(job);
    agent_->Forget(job);
  }
  AwaitSpare();
}

TEST_F(TreeTest, DoesNotSweepTheSupervisorThatWaits) {
  const RunningJob job = agent_->Start("sleep 1000");
  // Only this one has a child; the other waits.
  pid_t busy = 0;
  pid_t spare = 0;
  while (busy == 0 || spare == 0) {
    const ProcessTree tree = ProcessTree::Snapshot();
    for (const Process& child : tree.ChildrenOf(init_->pid())) {
      (tree.ChildrenOf(child.pid).empty() ? spare : busy) = child.pid;
    }
  }
  ASSERT_EQ(::kill(busy, SIGKILL), 0);
  EXPECT_TRUE(agent_->WaitExited(job).supervisor_lost);
  agent_->WaitGone(job);
  EXPECT_TRUE(Inside().empty());
  EXPECT_EQ(AwaitSpare(), spare);
}

TEST_F(TreeTest, StartsCommandsAtOnceEachWithItsOwn) {
  std::vector<RunningJob> jobs;
  jobs.reserve(20);
  for (int i = 0; i < 20; ++i) jobs.push_back(agent_->Begin("exit " + std::to_string(i)));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(agent_->WaitExited(jobs[static_cast<std::size_t>(i)]).exit_code(), i);
  }
}

TEST_F(TreeTest, StopsAndContinuesEverythingToFreeze) {
  const RunningJob job = agent_->Start("echo ready; while sleep 0.01; do :; done");
  ReadLine(job.output);
  v1::ToInit freeze;
  freeze.mutable_freeze();
  agent_->Send(freeze);
  const v1::FromInit frozen =
      agent_->WaitFor([](const v1::FromInit& frame) { return frame.has_frozen(); });
  EXPECT_TRUE(frozen.frozen().frozen());
  // A stop is on its way until the process is next scheduled.
  while (AnyRunning()) std::this_thread::yield();
  v1::ToInit thaw;
  thaw.mutable_thaw();
  agent_->Send(thaw);
  agent_->WaitFor([](const v1::FromInit& frame) { return frame.has_frozen(); });
  agent_->Signal(job, SIGTERM, true);
  agent_->WaitGone(job);
}

}  // namespace
}  // namespace sandkeep::init
