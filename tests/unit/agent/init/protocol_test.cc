// The channel: whatever comes in, init serves on; whatever nobody read, the next agent learns.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>

#include "common/limits.h"
#include "tests/unit/agent/init/init_test.h"

namespace sandkeep::init {
namespace {

class ProtocolTest : public InitTest {
 protected:
  void SayHelloAgain() { agent_ = std::make_unique<TestAgent>(*init_); }

  const v1::JobState* AtHello(const std::string& id) const {
    const auto& jobs = agent_->jobs_at_hello();
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const v1::JobState& candidate) {
      return candidate.job_id() == id;
    });
    return job == jobs.end() ? nullptr : &*job;
  }

  static v1::ToInit StartFrame(const std::string& id, std::uint32_t bytes) {
    v1::ToInit frame;
    frame.mutable_start()->set_job_id(id);
    frame.mutable_start()->set_command_bytes(bytes);
    frame.mutable_start()->set_merge_streams(true);
    return frame;
  }
  static v1::ToInit CommandFrame(const std::string& id, const std::string& data) {
    v1::ToInit frame;
    frame.mutable_command()->set_job_id(id);
    frame.mutable_command()->set_data(data);
    return frame;
  }
  static v1::ToInit RunFrame(const std::string& id) {
    v1::ToInit frame;
    frame.mutable_run()->set_job_id(id);
    return frame;
  }

  // A pipe's ends as Start wants them: write, read.
  struct Ends {
    UniqueFd write, read;
    std::vector<int> numbers() const { return {write.get(), read.get()}; }
  };
  static Ends MakePipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    return {UniqueFd(ends[1]), UniqueFd(ends[0])};
  }
};

TEST_F(ProtocolTest, DropsAndCountsFramesThatDoNotParse) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(1 + random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    agent_->SendRaw(bytes);
  }
  agent_->SendRaw(std::string(kMaxInitFrameBytes, '\xff'));
  SayHelloAgain();
  EXPECT_GT(agent_->dropped_at_hello(), 1000U);
  ExpectInitServes();
}

TEST_F(ProtocolTest, DropsEveryCutOfARealFrame) {
  v1::ToInit frame = StartFrame(NewJobId(), 4);
  frame.mutable_start()->add_env()->set_name("NAME");
  frame.mutable_start()->set_cwd("/tmp");
  const std::string whole = frame.SerializeAsString();
  for (std::size_t size = 1; size < whole.size(); ++size) agent_->SendRaw(whole.substr(0, size));
  ExpectInitServes();
}

TEST_F(ProtocolTest, DropsAFrameOverTheLimitAndAnEmptyOne) {
  const UniqueFd channel = init_->TakeChannel().value();
  const std::string huge(kMaxInitFrameBytes + 1, 'x');
  ASSERT_GT(::send(channel.get(), huge.data(), huge.size(), 0), 0);
  ASSERT_EQ(::send(channel.get(), "", 0, 0), 0);
  SayHelloAgain();
  EXPECT_EQ(agent_->dropped_at_hello(), 2U);
  ExpectInitServes();
}

TEST_F(ProtocolTest, ClosesDescriptorsThatBelongToNoRequest) {
  Ends pipe = MakePipe();
  v1::ToInit ping;
  ping.mutable_ping();
  agent_->Send(ping, {pipe.write.get(), pipe.write.get()});
  agent_->SendRaw("\xff\xff", {pipe.write.get()});
  pipe.write.Reset();
  // The end comes when init holds it no more.
  EXPECT_EQ(ReadAll(pipe.read), "");
  ExpectInitServes();
}

TEST_F(ProtocolTest, RefusesDescriptorsThatAreNotTheRightEndsOfPipes) {
  const Ends pipe = MakePipe();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int w = pipe.write.get();
  const int r = pipe.read.get();
  for (const std::vector<int>& wrong : std::vector<std::vector<int>>{{},
                                                                     {w},
                                                                     {r, w},
                                                                     {w, w},
                                                                     {null.get(), r},
                                                                     {w, null.get()},
                                                                     {w, r, r},
                                                                     {w, w, r, r},
                                                                     {w, r, w, r, w, r, w, r}}) {
    const std::string id = NewJobId();
    agent_->Send(StartFrame(id, 0), wrong);
    EXPECT_EQ(agent_->WaitRefused(id).reason(), v1::Refused::BAD_REQUEST);
  }
  ExpectInitServes();
}

TEST_F(ProtocolTest, RefusesWhatItDoesNotKnow) {
  for (const v1::ToInit& frame :
       {CommandFrame("sixteen  letters", "x"), RunFrame("sixteen  letters")}) {
    agent_->Send(frame);
    EXPECT_EQ(agent_->WaitRefused("sixteen  letters").reason(), v1::Refused::UNKNOWN_JOB);
  }
  RunningJob nobody;
  nobody.id = "sixteen  letters";
  agent_->Signal(nobody, SIGKILL, true);
  EXPECT_EQ(agent_->WaitRefused(nobody.id).reason(), v1::Refused::UNKNOWN_JOB);
  agent_->Forget(nobody);
  agent_->Send(RunFrame("short"));
  ExpectInitServes();
}

TEST_F(ProtocolTest, RefusesASecondStartOfTheSameJob) {
  const Ends pipe = MakePipe();
  const RunningJob job = agent_->Start("read -r line", {.stdin_pipe = true});
  agent_->Send(StartFrame(job.id, 0), pipe.numbers());
  EXPECT_EQ(agent_->WaitRefused(job.id).reason(), v1::Refused::DUPLICATE_JOB);
  // Its other frames out of order change nothing.
  agent_->Send(CommandFrame(job.id, "more"));
  agent_->Send(RunFrame(job.id));
  ASSERT_EQ(::write(job.input.get(), "\n", 1), 1);
  EXPECT_EQ(agent_->WaitExited(job).exit_code(), 0);
}

TEST_F(ProtocolTest, RefusesACommandThatIsNotTheAnnouncedSize) {
  const Ends pipe = MakePipe();
  const std::string short_one = NewJobId();
  agent_->Send(StartFrame(short_one, 10), pipe.numbers());
  agent_->Send(CommandFrame(short_one, "exit"));
  agent_->Send(RunFrame(short_one));
  EXPECT_EQ(agent_->WaitRefused(short_one).reason(), v1::Refused::BAD_REQUEST);

  const std::string long_one = NewJobId();
  agent_->Send(StartFrame(long_one, 3), pipe.numbers());
  agent_->Send(CommandFrame(long_one, "exit"));
  EXPECT_EQ(agent_->WaitRefused(long_one).reason(), v1::Refused::BAD_REQUEST);

  const std::string huge = NewJobId();
  agent_->Send(StartFrame(huge, kMaxCommandBytes + 1), pipe.numbers());
  EXPECT_EQ(agent_->WaitRefused(huge).reason(), v1::Refused::BAD_REQUEST);
  ExpectInitServes();
}

TEST_F(ProtocolTest, RunsACommandThatComesWithStartAtOnce) {
  Ends pipe = MakePipe();
  v1::ToInit frame = StartFrame(NewJobId(), 10);
  frame.mutable_start()->set_command("echo whole");
  agent_->Send(frame, pipe.numbers());
  pipe.write.Reset();
  EXPECT_EQ(ReadAll(pipe.read), "whole\n");
  RunningJob job;
  job.id = frame.start().job_id();
  // What would complete it otherwise is out of order.
  agent_->Send(CommandFrame(job.id, "x"));
  agent_->Send(RunFrame(job.id));
  EXPECT_EQ(agent_->WaitExited(job).exit_code(), 0);
  SayHelloAgain();
  EXPECT_EQ(agent_->dropped_at_hello(), 2U);
}

TEST_F(ProtocolTest, RunsACommandInParts) {
  Ends pipe = MakePipe();
  const std::string id = NewJobId();
  agent_->Send(StartFrame(id, 8), pipe.numbers());
  agent_->Send(CommandFrame(id, "echo "));
  agent_->Send(CommandFrame(id, "two"));
  agent_->Send(RunFrame(id));
  pipe.write.Reset();
  EXPECT_EQ(ReadAll(pipe.read), "two\n");
}

TEST_F(ProtocolTest, RefusesACommandWithStartThatIsNotTheAnnouncedSize) {
  const Ends pipe = MakePipe();
  for (const std::uint32_t announced : {0U, 3U, 5U}) {
    v1::ToInit frame = StartFrame(NewJobId(), announced);
    frame.mutable_start()->set_command("exit");
    agent_->Send(frame, pipe.numbers());
    EXPECT_EQ(agent_->WaitRefused(frame.start().job_id()).reason(), v1::Refused::BAD_REQUEST);
  }
  v1::ToInit gated = StartFrame(NewJobId(), 4);
  gated.mutable_start()->set_command("exit");
  gated.mutable_start()->set_gate(true);
  agent_->Send(gated, pipe.numbers());
  EXPECT_EQ(agent_->WaitRefused(gated.start().job_id()).reason(), v1::Refused::BAD_REQUEST);
  ExpectInitServes();
}

TEST_F(ProtocolTest, RefusesAnEnvironmentThatNoneCanBe) {
  using std::string_literals::operator""s;
  const Ends pipe = MakePipe();
  for (const auto& [name, value] :
       {std::pair{""s, ""s}, std::pair{"A=B"s, ""s}, std::pair{"A"s, "b\0c"s}}) {
    v1::ToInit frame = StartFrame(NewJobId(), 0);
    frame.mutable_start()->add_env()->set_name(name);
    frame.mutable_start()->mutable_env(0)->set_value(value);
    agent_->Send(frame, pipe.numbers());
    EXPECT_EQ(agent_->WaitRefused(frame.start().job_id()).reason(), v1::Refused::BAD_REQUEST);
  }
}

TEST_F(ProtocolTest, RefusesMoreJobsThanItCanHold) {
  const Ends pipe = MakePipe();
  for (std::size_t i = 0; i < kMaxInitJobs; ++i) {
    agent_->Send(StartFrame(NewJobId(), 0), pipe.numbers());
  }
  const std::string one_more = NewJobId();
  agent_->Send(StartFrame(one_more, 0), pipe.numbers());
  EXPECT_EQ(agent_->WaitRefused(one_more).reason(), v1::Refused::TOO_MANY_JOBS);
  // Half-sent commands go with the agent that sent them.
  SayHelloAgain();
  EXPECT_TRUE(agent_->jobs_at_hello().empty());
  ExpectInitServes();
}

TEST_F(ProtocolTest, ANextAgentFindsRunningJobsAndTheirOutput) {
  std::string id;
  {
    const RunningJob job =
        agent_->Start("echo before; read -r x; echo after; exit 9", {.stdin_pipe = true});
    id = job.id;
    agent_.reset();
    SayHelloAgain();
    // The earlier agent's ends go with it here; the command reads the end of its input.
  }
  const v1::JobState* state = AtHello(id);
  ASSERT_NE(state, nullptr);
  const UniqueFd output = init_->TakeDescriptor(state->stdout_fd()).value();
  EXPECT_EQ(state->stderr_fd(), -1);
  EXPECT_EQ(state->stdin_fd(), -1);
  EXPECT_EQ(ReadAll(output), "before\nafter\n");
  RunningJob job;
  job.id = id;
  EXPECT_EQ(agent_->WaitExited(job).exit_code(), 9);
  agent_->WaitGone(job);
}

TEST_F(ProtocolTest, ANextAgentFindsWhatEndedWhileThereWasNone) {
  std::string id;
  UniqueFd watch;
  {
    RunningJob job = agent_->Begin("echo kept; exit 4");
    id = job.id;
    agent_->WaitGone(job);
  }
  SayHelloAgain();
  const v1::JobState* state = AtHello(id);
  ASSERT_NE(state, nullptr);
  EXPECT_TRUE(state->exited());
  EXPECT_TRUE(state->gone());
  EXPECT_EQ(state->wait_status(), 4 << 8);
  EXPECT_EQ(ReadAll(init_->TakeDescriptor(state->stdout_fd()).value()), "kept\n");

  // Read to its end, the pipe is kept no longer; forgotten, the job neither.
  SayHelloAgain();
  ASSERT_NE(AtHello(id), nullptr);
  EXPECT_EQ(AtHello(id)->stdout_fd(), -1);
  RunningJob job;
  job.id = id;
  agent_->Forget(job);
  SayHelloAgain();
  EXPECT_EQ(AtHello(id), nullptr);
}

TEST_F(ProtocolTest, NamesMoreJobsThanOneFrameHolds) {
  std::vector<RunningJob> jobs;
  for (std::size_t i = 0; i < kMaxHelloJobs + 6; ++i) {
    jobs.push_back(agent_->Begin(""));
    agent_->WaitGone(jobs.back());
  }
  SayHelloAgain();
  EXPECT_EQ(agent_->jobs_at_hello().size(), kMaxHelloJobs + 6);
}

TEST_F(ProtocolTest, ServesOnWhenNobodyReadsItsAnswers) {
  v1::ToInit ping;
  ping.mutable_ping();
  for (int i = 0; i < 20000; ++i) agent_->Send(ping);
  const RunningJob job = agent_->Begin("echo still; exit 3");
  EXPECT_EQ(ReadAll(job.output), "still\n");
  SayHelloAgain();
  // Said in the reply or after it, and never lost.
  const v1::JobState* state = AtHello(job.id);
  ASSERT_NE(state, nullptr);
  if (!state->exited()) {
    EXPECT_EQ(agent_->WaitExited(job).exit_code(), 3);
  } else {
    EXPECT_EQ(state->wait_status(), 3 << 8);
  }
}

TEST_F(ProtocolTest, ClosesTheInputThatItKeepsWhenTold) {
  int in[2] = {-1, -1};
  ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
  UniqueFd in_read(in[0]);
  UniqueFd in_write(in[1]);
  Ends out = MakePipe();
  const std::string id = NewJobId();
  v1::ToInit frame = StartFrame(id, 3);
  frame.mutable_start()->set_stdin_pipe(true);
  agent_->Send(frame, {out.write.get(), out.read.get(), in_read.get(), in_write.get()});
  agent_->Send(CommandFrame(id, "cat"));
  agent_->Send(RunFrame(id));
  out.write.Reset();
  ASSERT_EQ(::write(in_write.get(), "x\n", 2), 2);
  in_write.Reset();
  EXPECT_EQ(ReadLine(out.read), "x");
  v1::ToInit end;
  end.mutable_input()->set_job_id(id);
  end.mutable_input()->set_end(true);
  agent_->Send(end);
  EXPECT_EQ(ReadAll(out.read), "");
  RunningJob job;
  job.id = id;
  EXPECT_EQ(agent_->WaitExited(job).exit_code(), 0);
}

TEST_F(ProtocolTest, RefusesWhatOtherHostsNeed) {
  const Ends pipe = MakePipe();
  v1::ToInit gated = StartFrame(NewJobId(), 0);
  gated.mutable_start()->set_gate(true);
  v1::ToInit terminal = StartFrame(NewJobId(), 0);
  terminal.mutable_start()->set_terminal(true);
  for (const v1::ToInit& frame : {gated, terminal}) {
    agent_->Send(frame, pipe.numbers());
    EXPECT_EQ(agent_->WaitRefused(frame.start().job_id()).reason(), v1::Refused::BAD_REQUEST);
  }
  v1::ToInit packages;
  packages.mutable_list_packages();
  agent_->Send(packages);
  v1::ToInit resize;
  resize.mutable_resize();
  agent_->Send(resize);
  ExpectInitServes();
}

}  // namespace
}  // namespace sandkeep::init
