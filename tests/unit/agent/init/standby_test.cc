// A shell that stands by, at the level of frames.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/agent/init/init_test.h"

namespace sandkeep::init {
namespace {

class StandbyShellTest : public InitTest {
 protected:
  struct Shell {
    std::string id = NewJobId();
    UniqueFd output;
    UniqueFd text;
    UniqueFd ready;
  };

  // Asks for one; `change` may spoil the frame.
  Shell Ask(const std::function<void(v1::Start&)>& change = {}) {
    Shell shell;
    int output[2];
    int ready[2];
    EXPECT_EQ(::pipe2(output, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    shell.output = UniqueFd(output[0]);
    shell.ready = UniqueFd(ready[1]);
    shell.text = UniqueFd(::memfd_create("text", MFD_CLOEXEC));
    const UniqueFd write(output[1]);
    const UniqueFd wait(ready[0]);
    const std::string again = "/proc/self/fd/" + std::to_string(output[0]);
    const UniqueFd kept(::open(again.c_str(), O_RDONLY | O_CLOEXEC));
    v1::ToInit frame;
    frame.mutable_start()->set_job_id(shell.id);
    frame.mutable_start()->set_merge_streams(true);
    frame.mutable_start()->set_standby(true);
    if (change) change(*frame.mutable_start());
    agent_->Send(frame, {write.get(), kept.get(), shell.text.get(), wait.get()});
    return shell;
  }

  void Use(const std::string& standby, const std::string& id) {
    v1::ToInit frame;
    frame.mutable_use()->set_standby_id(standby);
    frame.mutable_use()->set_job_id(id);
    agent_->Send(frame);
  }

  static void Give(Shell& shell, std::string_view command) {
    EXPECT_EQ(::pwrite(shell.text.get(), command.data(), command.size(), 0),
              static_cast<ssize_t>(command.size()));
    EXPECT_EQ(::write(shell.ready.get(), "\n", 1), 1);
    shell.ready.Reset();
  }

  static RunningJob Named(const std::string& id) {
    RunningJob job;
    job.id = id;
    return job;
  }

  std::uint64_t Dropped() {
    agent_ = std::make_unique<TestAgent>(*init_);
    return agent_->dropped_at_hello();
  }
};

TEST_F(StandbyShellTest, RunsWhatItIsGivenUnderTheJobsName) {
  Shell shell = Ask();
  EXPECT_GT(agent_->WaitStarted(Named(shell.id)), 0);
  const RunningJob job = Named(NewJobId());
  Use(shell.id, job.id);
  agent_->Ping();
  Give(shell, "echo on; exit 5");
  EXPECT_EQ(ReadAll(shell.output), "on\n");
  EXPECT_EQ(agent_->WaitExited(job).exit_code(), 5);
  agent_->WaitGone(job);
  agent_->Forget(job);
  ExpectInitServes();
}

TEST_F(StandbyShellTest, WaitsForTheEndOfWhatRunsAndStartsAtOnceWhenUsed) {
  const RunningJob busy = agent_->Start("echo on; sleep 1000");
  EXPECT_EQ(ReadLine(busy.output), "on");
  Shell shell = Ask();
  agent_->Ping();
  EXPECT_FALSE(agent_->Has([](const v1::FromInit& frame) { return frame.has_started(); }));
  const RunningJob job = Named(NewJobId());
  Use(shell.id, job.id);
  Give(shell, "echo now");
  EXPECT_EQ(ReadAll(shell.output), "now\n");
  agent_->WaitGone(job);
  agent_->Signal(busy, SIGKILL, true);
  agent_->WaitGone(busy);
  ExpectInitServes();
}

TEST_F(StandbyShellTest, ThatNobodyCanUseAnyMoreIsNotMade) {
  const RunningJob busy = agent_->Start("echo on; sleep 1000");
  EXPECT_EQ(ReadLine(busy.output), "on");
  Shell shell = Ask();
  shell.ready.Reset();
  agent_->Signal(busy, SIGKILL, true);
  agent_->WaitRefused(shell.id);
  ExpectInitServes();
}

// What ran ends just when its agent uses it: the command is there, and the frame that says so isn't
// read yet.
TEST_F(StandbyShellTest, ThatHasItsCommandIsMadeThoughNobodyHoldsItsPipe) {
  const RunningJob busy = agent_->Start("echo on; sleep 1000");
  EXPECT_EQ(ReadLine(busy.output), "on");
  Shell shell = Ask();
  Give(shell, "echo kept");
  agent_->Signal(busy, SIGKILL, true);
  EXPECT_GT(agent_->WaitStarted(Named(shell.id)), 0);
  Use(shell.id, NewJobId());
  EXPECT_EQ(ReadAll(shell.output), "kept\n");
  ExpectInitServes();
}

TEST_F(StandbyShellTest, EndsWhenItsAgentDoes) {
  Shell shell = Ask();
  agent_->WaitStarted(Named(shell.id));
  shell.ready.Reset();
  EXPECT_EQ(agent_->WaitExited(Named(shell.id)).signal(), SIGHUP);
  ExpectInitServes();
}

TEST_F(StandbyShellTest, ThatAsksForMoreThanAShellIsRefused) {
  for (const auto& spoil : std::vector<std::function<void(v1::Start&)>>{
           [](v1::Start& start) { start.set_cwd("/"); },
           [](v1::Start& start) { start.set_command_bytes(3); },
           [](v1::Start& start) { start.set_command("x"); },
           [](v1::Start& start) { start.set_merge_streams(false); },
           [](v1::Start& start) { start.set_stdin_pipe(true); },
           [](v1::Start& start) { start.set_terminal(true); },
           [](v1::Start& start) { start.add_env()->set_name("A"); }}) {
    const Shell shell = Ask(spoil);
    EXPECT_EQ(agent_->WaitRefused(shell.id).reason(), v1::Refused::BAD_REQUEST);
  }
  ExpectInitServes();
}

TEST_F(StandbyShellTest, WithOtherDescriptorsIsRefused) {
  v1::ToInit frame;
  frame.mutable_start()->set_job_id(NewJobId());
  frame.mutable_start()->set_merge_streams(true);
  frame.mutable_start()->set_standby(true);
  agent_->Send(frame);
  EXPECT_EQ(agent_->WaitRefused(frame.start().job_id()).reason(), v1::Refused::BAD_REQUEST);
  ExpectInitServes();
}

TEST_F(StandbyShellTest, UsesThatMakeNoSenseAreDropped) {
  const RunningJob busy = agent_->Start("echo on; sleep 1000");
  Shell shell = Ask();
  Use(NewJobId(), NewJobId());
  Use(shell.id, "short");
  Use(shell.id, busy.id);
  Use(busy.id, NewJobId());
  EXPECT_EQ(Dropped(), 4U);
  ExpectInitServes();
}

}  // namespace
}  // namespace sandkeep::init
