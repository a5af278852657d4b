// Frames that no honest init sends: malformed, too large, of other kinds, forged for shells that
// stand by. Each breaks the link once and says why, or changes nothing; none does more.

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tests/unit/agent/init_link/link_fixture.h"

namespace sandkeep {
namespace {

class LiesTest : public InitLinkTest {
 protected:
  void SayRaw(std::string_view bytes) {
    ASSERT_EQ(::send(init_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  // False: the kernel doesn't let descriptors pass.
  bool SayWithDescriptors(const std::vector<int>& fds) {
    std::string bytes = RefusedFrame(JobId::Random(random_), Refused::BAD_CWD).SerializeAsString();
    iovec data{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 64)> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
    return ::sendmsg(init_.fd(), &message, MSG_NOSIGNAL) >= 0;
  }

  static FromInit GoneWithExit(const JobId& id, std::uint32_t left_behind = 0) {
    FromInit frame = ExitedFrame(id);
    frame.mutable_exited()->set_gone(true);
    frame.mutable_exited()->set_left_behind(left_behind);
    return frame;
  }
  static FromInit WaitingFrame(const JobId& id) {
    FromInit frame;
    frame.mutable_waiting()->set_job_id(id.bytes());
    return frame;
  }

  void SayAll(const std::vector<FromInit>& frames) {
    for (const FromInit& frame : frames) ASSERT_TRUE(init_.Say(frame).ok());
    Settle();
  }
};

// ---- Malformed and huge ----

TEST_F(LiesTest, BytesThatAreNoFrameBreakItWhateverIsWrongWithThem) {
  const std::string nested = [] {
    std::string bytes;
    for (int i = 0; i < 2000; ++i) bytes += "\x0b";  // Groups in groups.
    return bytes;
  }();
  const std::vector<std::string> lies = {
      std::string(1, '\0'),
      std::string("\x0a\xff\xff\xff\xff\x0f", 6),  // A length of four gigabytes.
      std::string("\x0a\x7f\x01", 3),              // A length past the end.
      std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12),  // No varint at all.
      nested,
      std::string(kMaxInitFrameBytes, '\xff'),
      std::string("\x52\x02\x08", 3),
  };
  for (const std::string& lie : lies) {
    StartOver();
    Greet();
    StartJob();
    SayRaw(lie);
    ExpectBroken("init ");
  }
}

TEST_F(LiesTest, AFrameOverTheLimitBreaksIt) {
  Greet();
  FromInit frame = StartedFrame(StartJob());
  std::string bytes = frame.SerializeAsString();
  // Still a frame, if it were looked at: the rest is a field that we don't know.
  bytes += std::string("\xfa\x7f\x80\x80\x04", 5) + std::string(kMaxInitFrameBytes, 'x');
  SayRaw(bytes);
  ExpectBroken("over the limit");
  EXPECT_EQ(said_, "");
}

TEST_F(LiesTest, AnEmptyFrameIsTheEnd) {
  Greet();
  ASSERT_EQ(::send(init_.fd(), "", 0, MSG_NOSIGNAL), 0);
  Settle();
  ASSERT_EQ(broken_.size(), 1u);
  EXPECT_TRUE(init_.AgentGone());
}

TEST_F(LiesTest, NumbersThatCannotBeBreakIt) {
  Greet();
  const JobId id = StartJob();
  FromInit pid = StartedFrame(id);
  pid.mutable_started()->set_pid(std::numeric_limits<std::uint32_t>::max());
  FromInit many = ExitedFrame(id);
  many.mutable_exited()->set_left_behind(std::numeric_limits<std::uint32_t>::max());
  FromInit status = ExitedFrame(id, std::numeric_limits<std::int32_t>::min());
  FromInit port;
  port.mutable_port_opened()->set_port(0);
  FromInit reason = RefusedFrame(id, static_cast<Refused::Reason>(99));
  for (const FromInit& lie : {pid, many, status, port, reason}) {
    StartOver();
    Greet();
    const JobId job = StartJob();
    FromInit frame = lie;
    if (frame.has_started()) frame.mutable_started()->set_job_id(job.bytes());
    if (frame.has_refused()) frame.mutable_refused()->set_job_id(job.bytes());
    if (frame.has_exited()) {
      ASSERT_TRUE(init_.Say(StartedFrame(job)).ok());
      frame.mutable_exited()->set_job_id(job.bytes());
    }
    ASSERT_TRUE(init_.Say(frame).ok());
    ExpectBroken("init ");
  }
}

TEST_F(LiesTest, IdsThatAreNoneBreakIt) {
  for (const std::size_t size : {0, 1, 15, 17, 4096}) {
    StartOver();
    Greet();
    StartJob();
    FromInit frame;
    frame.mutable_started()->set_job_id(std::string(size, 'i'));
    ASSERT_TRUE(init_.Say(frame).ok());
    ExpectBroken("init ");
  }
}

// ---- Descriptors ----

TEST_F(LiesTest, NoDescriptorOfAnyKindGetsIn) {
  int pair[2], pipe[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  std::vector<UniqueFd> kinds;
  for (const int fd :
       {pair[0], pair[1], pipe[0], pipe[1], ::eventfd(0, EFD_CLOEXEC),
        ::epoll_create1(EPOLL_CLOEXEC), ::memfd_create("forged", MFD_CLOEXEC),
        ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), ::open("/dev/null", O_RDWR | O_CLOEXEC)}) {
    ASSERT_GE(fd, 0);
    kinds.emplace_back(fd);
  }
  for (const UniqueFd& kind : kinds) {
    StartOver();
    Greet();
    if (!SayWithDescriptors({kind.get()})) GTEST_SKIP() << "the kernel refuses them itself";
    ExpectBroken("descriptor");
  }
  // More than a frame may have: those that arrive are closed, too.
  const auto open_now = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  StartOver();
  Greet();
  const auto before = open_now();
  ASSERT_TRUE(SayWithDescriptors(std::vector<int>(60, pipe[1])));
  ExpectBroken("over the limit");
  EXPECT_LE(open_now(), before);
}

// ---- Shells that stand by ----

TEST_F(LiesTest, WhatIsSaidUnderTheOldNameCountsForTheJobAndOnlyOnce) {
  Greet();
  const JobId standby = StandBy();
  ASSERT_TRUE(started_.ok()) << started_;
  const std::optional<ToInit> asked = init_.Hear();
  EXPECT_TRUE(asked->start().standby());
  EXPECT_EQ(init_.descriptors().size(), 4u);
  SayAll({StartedFrame(standby)});
  const JobId job = JobId::Random(random_);
  ASSERT_TRUE(link_->Use(standby, job).ok());
  SayAll({WaitingFrame(standby), GoneWithExit(standby)});
  EXPECT_EQ(said_of_[standby], "S");
  EXPECT_EQ(said_of_[job], "WEG");
  SayAll({ExitedFrame(job)});
  ExpectBroken("out of order");
}

TEST_F(LiesTest, AShellThatStandsByIsHeldToTheSameOrder) {
  // Digits: the same, under the job's own name, after it was used.
  for (const std::string order : {"E", "G", "W", "SG", "SS", "SXG", "SXE", "SEX", "X", "S0", "SE1",
                                  "SX2", "SX1", "SEG2", "R0", "RS", "RX"}) {
    StartOver();
    Greet();
    const JobId standby = StandBy();
    const JobId job = JobId::Random(random_);
    // A shell that is to be used has said nothing wrong yet.
    if (order.find_first_of("012") != std::string::npos) {
      ASSERT_TRUE(link_->Use(standby, job).ok());
    }
    for (const char step : order) {
      const JobId& name = step >= '0' && step <= '9' ? job : standby;
      FromInit frame = StartedFrame(name);
      if (step == 'E' || step == '1') frame = ExitedFrame(name);
      if (step == 'X') frame = GoneWithExit(name);
      if (step == 'G' || step == '2') frame = GoneFrame(name);
      if (step == 'W') frame = WaitingFrame(name);
      if (step == 'R') frame = RefusedFrame(name, Refused::CANNOT_FORK);
      ASSERT_TRUE(init_.Say(frame).ok());
    }
    Settle();
    EXPECT_EQ(broken_.size(), 1u) << order << " said " << said_;
  }
}

TEST_F(LiesTest, ANameThatWasGivenUpIsUnknown) {
  Greet();
  const JobId standby = StandBy();
  const JobId job = JobId::Random(random_);
  ASSERT_TRUE(link_->Use(standby, job).ok());
  SayAll({StartedFrame(job), GoneWithExit(job)});
  ASSERT_TRUE(link_->Forget(job).ok());
  EXPECT_TRUE(broken_.empty());
  SayAll({WaitingFrame(standby)});
  ExpectBroken("don't know");
}

// The two cross: init had said it before it heard.
TEST_F(LiesTest, WhatIsStillHeardOfAForgottenJobIsNoLie) {
  Greet();
  const JobId id = StartJob();
  SayAll({StartedFrame(id)});
  ASSERT_TRUE(link_->Forget(id).ok());
  SayAll({WaitingFrame(id), ExitedFrame(id), GoneFrame(id)});
  EXPECT_TRUE(broken_.empty()) << broken_.front();
  SayAll({GoneFrame(id)});
  ExpectBroken("don't know");
}

TEST_F(LiesTest, AShellThatHasEndedIsNotUsed) {
  Greet();
  const JobId standby = StandBy();
  SayAll({StartedFrame(standby), ExitedFrame(standby)});
  EXPECT_TRUE(absl::IsFailedPrecondition(link_->Use(standby, JobId::Random(random_))));
  SayAll({GoneFrame(standby)});
  EXPECT_TRUE(broken_.empty());
}

TEST_F(LiesTest, AShellThatNeverWasIsUnknown) {
  Greet();
  EXPECT_TRUE(
      absl::IsFailedPrecondition(link_->Use(JobId::Random(random_), JobId::Random(random_))));
  const JobId standby = StandBy();
  const JobId job = StartJob();
  EXPECT_TRUE(absl::IsAlreadyExists(link_->Use(standby, job)));
  SayAll({StartedFrame(JobId::Random(random_))});
  ExpectBroken("don't know");
}

// No lie: it counted them at the exit, and they ended before it said so.
TEST_F(LiesTest, NothingIsLeftBehindOfWhatIsGone) {
  Greet();
  const JobId id = StartJob();
  SayAll({StartedFrame(id), GoneWithExit(id, 3)});
  EXPECT_EQ(said_, "SEG");
  EXPECT_EQ(left_behind_, 0);
}

TEST_F(LiesTest, WaitingForInputIsBoundedAndBelongsToARunningJob) {
  Greet();
  const JobId id = StartJob();
  ASSERT_TRUE(init_.Say(StartedFrame(id)).ok());
  for (int i = 0; i < 4 * kMaxIdleInitFrames && broken_.empty(); ++i) {
    if (!init_.Say(WaitingFrame(id)).ok()) Settle();
  }
  ExpectBroken("stop talking");
  EXPECT_LE(said_.size(), static_cast<std::size_t>(kMaxIdleInitFrames) + 1);
}

TEST_F(LiesTest, AHelloOutOfItsPlaceBreaksIt) {
  const JobId id = JobId::Random(random_);
  Greet({Running(id)});
  ASSERT_TRUE(init_.Say(init_.Reply({Running(JobId::Random(random_))})).ok());
  ExpectBroken("may not send");
}

}  // namespace
}  // namespace sandkeep
