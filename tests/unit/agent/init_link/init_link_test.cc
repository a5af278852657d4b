// Whatever init says, the worst that it can do is break its own sandbox, once.

#include <fcntl.h>
#include <sys/socket.h>

#include "tests/unit/agent/init_link/link_fixture.h"

namespace sandkeep {
namespace {

TEST_F(InitLinkTest, TellsAJobsLifeInOrder) {
  Greet();
  const JobId id = StartJob();
  const ToInit frame_of_start = *init_.Hear();
  EXPECT_EQ(frame_of_start.start().command(), "true");
  EXPECT_EQ(frame_of_start.start().command_bytes(), 4u);
  EXPECT_EQ(init_.descriptors().size(), 2u);
  // That was all.
  EXPECT_FALSE(init_.Hear());
  for (const FromInit& frame : {StartedFrame(id), ExitedFrame(id), GoneFrame(id)}) {
    ASSERT_TRUE(init_.Say(frame).ok());
  }
  Settle();
  EXPECT_EQ(said_, "SEG");
  EXPECT_TRUE(link_->Forget(id).ok());
  EXPECT_TRUE(init_.Hear()->has_forget());
  EXPECT_TRUE(broken_.empty());
}

TEST_F(InitLinkTest, ACommandTravelsInPartsThatAddUp) {
  Greet();
  const std::string command(kMaxCommandBytes, 'x');
  StartJob(command);
  std::string whole;
  std::uint32_t announced = 0;
  for (bool run = false; !run;) {
    Settle();
    while (const std::optional<ToInit> frame = init_.Hear()) {
      if (frame->has_start()) announced = frame->start().command_bytes();
      if (frame->has_command()) {
        EXPECT_LE(frame->command().data().size(), kMaxCommandPartBytes);
        whole += frame->command().data();
      }
      run = run || frame->has_run();
    }
  }
  EXPECT_EQ(announced, command.size());
  EXPECT_TRUE(whole == command);
}

TEST_F(InitLinkTest, ACommandThatJustDoesNotFitBesideTheRestTravelsInParts) {
  Greet();
  for (const std::size_t size : {kMaxInitFrameBytes - 100, kMaxInitFrameBytes}) {
    const std::string command(size, 'x');
    StartJob(command);
    ASSERT_TRUE(started_.ok()) << started_;
    const ToInit first = *init_.Hear();
    ASSERT_TRUE(first.has_start());
    const bool whole = first.start().has_command();
    EXPECT_EQ(whole, size < kMaxInitFrameBytes);
    std::string parts = first.start().command();
    while (const std::optional<ToInit> frame = init_.Hear()) parts += frame->command().data();
    EXPECT_TRUE(parts == command);
  }
}

TEST_F(InitLinkTest, WhatAnEarlierAgentLeftUnreadIsNoLie) {
  ASSERT_TRUE(init_.Say(ExitedFrame(JobId::Random(random_))).ok());
  ASSERT_TRUE(init_.SayBytes("\xff\xff half of something").ok());
  Open();
  ASSERT_TRUE(init_.Hear());
  ASSERT_TRUE(init_.Say(GoneFrame(JobId::Random(random_))).ok());
  FromInit stale = init_.Reply();
  stale.mutable_hello()->set_epoch("0123456789abcdef");
  ASSERT_TRUE(init_.Say(stale).ok());
  ASSERT_TRUE(init_.Say(init_.Reply()).ok());
  Finish();
  EXPECT_TRUE(greeted_->ok()) << greeted_->status();
}

TEST_F(InitLinkTest, ASilentInitIsGivenUpAtTheDeadline) {
  Open(std::chrono::milliseconds(30));
  Finish();
  EXPECT_TRUE(absl::IsDeadlineExceeded(greeted_->status()));
}

TEST_F(InitLinkTest, AnInitOfAnotherVersionIsRefusedWithARemedy) {
  Open();
  ASSERT_TRUE(init_.Hear());
  FromInit reply = init_.Reply();
  reply.mutable_hello()->set_version(static_cast<init::v1::Version>(9));
  ASSERT_TRUE(init_.Say(reply).ok());
  Finish();
  EXPECT_TRUE(absl::IsFailedPrecondition(greeted_->status())) << greeted_->status();
}

TEST_F(InitLinkTest, AHelloReplyWithJobsThatCannotBeIsALie) {
  const JobId id = JobId::Random(random_);
  JobState short_id = Running(id);
  short_id.set_job_id("short");
  JobState gone_only = Running(id);
  gone_only.set_gone(true);
  JobState bad_status = Running(id);
  bad_status.set_exited(true);
  bad_status.set_wait_status(0x137f);
  JobState no_such_fd = Running(id);
  no_such_fd.set_stdout_fd(99'999);
  JobState negative = Running(id);
  negative.set_exited_ms_ago(-1);
  const std::vector<std::vector<JobState>> lies = {{short_id},
                                                   {gone_only},
                                                   {bad_status},
                                                   {no_such_fd},
                                                   {negative},
                                                   {Running(id), Running(id)},
                                                   std::vector<JobState>(600, Running(id))};
  for (const std::vector<JobState>& lie : lies) {
    StartOver();
    Open();
    ASSERT_TRUE(init_.Hear());
    ASSERT_TRUE(init_.Say(init_.Reply(lie)).ok());
    Finish();
    EXPECT_TRUE(absl::IsDataLoss(greeted_->status())) << greeted_->status();
  }
  EXPECT_TRUE(broken_.empty());
}

TEST_F(InitLinkTest, ALongListComesInSeveralReplies) {
  Open();
  ASSERT_TRUE(init_.Hear());
  FromInit first = init_.Reply({Running(JobId::Random(random_))});
  first.mutable_hello()->set_more(true);
  ASSERT_TRUE(init_.Say(first).ok());
  ASSERT_TRUE(init_.Say(init_.Reply({Running(JobId::Random(random_))})).ok());
  Finish();
  ASSERT_TRUE(greeted_->ok());
  EXPECT_EQ((*greeted_)->size(), 2u);
}

TEST_F(InitLinkTest, AFrameThatDoesNotParseBreaksIt) {
  Greet();
  ASSERT_TRUE(init_.SayBytes("\xff\xff\xff").ok());
  ExpectBroken("parse");
}

TEST_F(InitLinkTest, AnEmptyMessageBreaksIt) {
  Greet();
  ASSERT_TRUE(init_.SayBytes(std::string("\x7a\x00", 2)).ok());
  ExpectBroken("may not send");
}

TEST_F(InitLinkTest, AJobThatWeDoNotKnowBreaksIt) {
  Greet();
  ASSERT_TRUE(init_.Say(StartedFrame(JobId::Random(random_))).ok());
  ExpectBroken("don't know");
}

TEST_F(InitLinkTest, EveryWrongOrderBreaksIt) {
  for (const std::string order : {"E", "G", "SS", "SG", "SEE", "SES", "SEGG", "SEGE", "W", "RS"}) {
    StartOver();
    Greet();
    const JobId id = StartJob();
    while (init_.Hear()) {
    }
    for (const char step : order) {
      FromInit frame = step == 'S'   ? StartedFrame(id)
                       : step == 'E' ? ExitedFrame(id)
                       : step == 'G' ? GoneFrame(id)
                                     : RefusedFrame(id, Refused::BAD_CWD);
      if (step == 'W') frame.mutable_waiting()->set_job_id(id.bytes());
      ASSERT_TRUE(init_.Say(frame).ok());
    }
    Settle();
    EXPECT_EQ(broken_.size(), 1u) << order;
  }
}

TEST_F(InitLinkTest, AnExitStatusThatIsNoneBreaksIt) {
  Greet();
  const JobId id = StartJob();
  ASSERT_TRUE(init_.Say(StartedFrame(id)).ok());
  ASSERT_TRUE(init_.Say(ExitedFrame(id, 0x137f)).ok());
  ExpectBroken("exit status");
}

TEST_F(InitLinkTest, ADescriptorFromInitNeverArrives) {
  Greet();
  const UniqueFd forged = Null(O_RDONLY);
  const JobId id = StartJob();
  // The kernel refuses it where it can; else the agent does.
  if (!init_.SayBytes(StartedFrame(id).SerializeAsString(), {forged.get()}).ok()) return;
  ExpectBroken("descriptor");
}

TEST_F(InitLinkTest, AnswersThatNobodyAskedForBreakIt) {
  FromInit pong, frozen, packages, output, port;
  pong.mutable_pong();
  frozen.mutable_frozen()->set_frozen(true);
  packages.mutable_packages();
  output.mutable_output()->set_data("x");
  port.mutable_port_opened()->set_port(70'000);
  for (const FromInit& lie : {pong, frozen, packages, output, port}) {
    StartOver();
    Greet();
    ASSERT_TRUE(init_.Say(lie).ok());
    Settle();
    EXPECT_EQ(broken_.size(), 1u) << lie.frame_case();
  }
}

TEST_F(InitLinkTest, APortThatBeganToListenIsToldOf) {
  Greet();
  for (const std::uint32_t number : {1U, 8000U, 65535U}) {
    FromInit port;
    port.mutable_port_opened()->set_port(number);
    ASSERT_TRUE(init_.Say(port).ok());
  }
  Settle();
  EXPECT_EQ(ports_, (std::vector<std::uint16_t>{1, 8000, 65535}));
  EXPECT_TRUE(broken_.empty());
}

TEST_F(InitLinkTest, AnInitThatDoesNotStopTalkingBreaksIt) {
  Greet();
  FromInit port;
  port.mutable_port_opened()->set_port(80);
  for (int i = 0; i < 4 * kMaxIdleInitFrames && broken_.empty(); ++i) {
    if (!init_.Say(port).ok()) Settle();
  }
  ExpectBroken("stop talking");
}

TEST_F(InitLinkTest, ARefusalIsToldOnceHoweverOftenInitSaysIt) {
  Greet();
  const JobId id = StartJob();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(init_.Say(RefusedFrame(id, Refused::TOO_MANY_JOBS)).ok());
  }
  Settle();
  EXPECT_EQ(said_, "R");
  EXPECT_TRUE(absl::IsResourceExhausted(refusal_)) << refusal_;
  EXPECT_TRUE(broken_.empty());
}

TEST_F(InitLinkTest, TheDeathOfInitIsToldOnce) {
  Greet();
  init_.Die();
  Settle();
  ASSERT_EQ(broken_.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(broken_[0])) << broken_[0];
}

TEST_F(InitLinkTest, AnInitThatDoesNotReadFillsABoundedQueue) {
  Greet();
  int taken = 0;
  for (; taken < 100; ++taken) {
    StartJob(std::string(kMaxCommandBytes, 'x'));
    if (!started_.ok()) break;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(started_)) << started_;
  EXPECT_LE(taken, 10);
  EXPECT_TRUE(broken_.empty());
}

TEST_F(InitLinkTest, AStartOverTheLimitsIsRefusedWhole) {
  Greet();
  StartJob(std::string(kMaxCommandBytes + 1, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(started_));
  StartJob(std::string("a\0b", 3));
  EXPECT_TRUE(absl::IsInvalidArgument(started_));
  EXPECT_FALSE(init_.Hear());
}

TEST_F(InitLinkTest, AChannelOfAnotherKindIsRefused) {
  RunningContainer container = init_.Container();
  container.channel = Null(O_RDWR);
  link_ = MakeInitLink(strand_, std::move(container), *this, random_);
  auto done = [this](std::exception_ptr, absl::StatusOr<std::vector<InitJob>> jobs) {
    greeted_ = std::move(jobs);
  };
  boost::asio::co_spawn(strand_, link_->Hello(), std::move(done));
  Finish();
  EXPECT_FALSE(greeted_->ok());
}

TEST_F(InitLinkTest, NoEventComesAfterItIsClosed) {
  Greet();
  const JobId id = StartJob();
  ASSERT_TRUE(init_.Say(StartedFrame(id)).ok());
  link_.reset();
  Settle();
  EXPECT_EQ(said_, "");
  EXPECT_TRUE(broken_.empty());
}

}  // namespace
}  // namespace sandkeep
