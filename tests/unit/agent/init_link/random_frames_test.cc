// Fifty thousand frames that chance made, the same in every run: the link holds init to its
// protocol, breaks at most once, and never tells of a job's life out of order.

#include <sys/socket.h>

#include <random>

#include "tests/unit/agent/init_link/link_fixture.h"

namespace sandkeep {
namespace {

constexpr int kFrames = 50'000;
constexpr std::uint64_t kSeed = 20'261'129;
// One link sees at most so many, should chance behave.
constexpr int kFramesOfOneLink = 40;

class RandomFramesTest : public InitLinkTest {
 protected:
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }
  bool Seldom() { return Below(8) == 0; }

  JobId AnyName() {
    if (names_.empty() || Seldom()) return JobId::Random(random_);
    return names_[Below(names_.size())];
  }

  void StartSome() {
    names_.clear();
    for (int i = 0; i < 3; ++i) names_.push_back(StartJob());
    names_.push_back(StandBy());
    const JobId standby = StandBy();
    const JobId used = JobId::Random(random_);
    ASSERT_TRUE(link_->Use(standby, used).ok());
    names_.push_back(standby);
    names_.push_back(used);
    while (init_.Hear()) {
    }
    init_.descriptors().clear();
  }

  // What an honest init might say, if it weren't for chance.
  FromInit AnyFrame() {
    const JobId id = AnyName();
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
        return StartedFrame(id);
      case 3:
      case 4: {
        constexpr int kStatuses[] = {0, 0x0100, 9, 0x8b, 0x137f, -1, 1 << 30};
        FromInit frame = ExitedFrame(id, kStatuses[Below(Seldom() ? 7 : 4)]);
        frame.mutable_exited()->set_gone(Below(2) == 0);
        if (Seldom())
          frame.mutable_exited()->set_left_behind(static_cast<std::uint32_t>(engine_()));
        frame.mutable_exited()->set_supervisor_lost(Seldom());
        return frame;
      }
      case 5:
        return GoneFrame(id);
      case 6:
        return RefusedFrame(id, static_cast<Refused::Reason>(Below(9)));
      case 7: {
        FromInit frame;
        frame.mutable_waiting()->set_job_id(id.bytes());
        return frame;
      }
      case 8: {
        FromInit frame;
        frame.mutable_port_opened()->set_port(static_cast<std::uint32_t>(Below(70'000)));
        return frame;
      }
      case 9: {
        FromInit frame;
        frame.mutable_frozen()->set_frozen(true);
        return frame;
      }
      case 10:
        return init_.Reply({Running(id)});
      default: {
        FromInit frame;
        frame.mutable_output()->set_data(std::string(Below(100), 'x'));
        return frame;
      }
    }
  }

  std::string AnyBytes() {
    std::string bytes = AnyFrame().SerializeAsString();
    switch (Below(6)) {
      case 0:  // A bit elsewhere.
        if (!bytes.empty()) bytes[Below(bytes.size())] ^= static_cast<char>(1 << Below(8));
        return bytes;
      case 1:  // Cut off.
        return bytes.substr(0, Below(bytes.size() + 1));
      case 2:  // Two in one: the later counts.
        return Seldom() ? bytes + AnyFrame().SerializeAsString() : bytes;
      case 3: {
        if (!Seldom()) return bytes;
        std::string noise(Below(200), '\0');
        for (char& byte : noise) byte = static_cast<char>(engine_());
        return noise;
      }
      default:
        return bytes;
    }
  }

  void ExpectLivesInOrder() {
    for (auto [id, said] : said_of_) {
      std::string order;
      for (const char event : said) {
        if (event != 'W') order += event;
      }
      const bool whole =
          order.empty() || order == "S" || order == "SE" || order == "SEG" || order == "R";
      ASSERT_TRUE(whole) << said;
      ASSERT_NE(std::find(names_.begin(), names_.end(), id), names_.end()) << "nobody started it";
    }
  }

  std::mt19937_64 engine_{kSeed};
  std::vector<JobId> names_;
};

TEST_F(RandomFramesTest, FiftyThousandOfThemDoNoMoreThanBreakTheirLink) {
  RecordProperty("seed", std::to_string(kSeed));
  int sent = 0, links = 0, broken = 0, events = 0;
  while (sent < kFrames) {
    StartOver();
    ASSERT_NO_FATAL_FAILURE(Greet());
    ASSERT_NO_FATAL_FAILURE(StartSome());
    ++links;
    for (int i = 0; i < kFramesOfOneLink && broken_.empty(); ++i, ++sent) {
      const std::string bytes = AnyBytes();
      ASSERT_EQ(::send(init_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      Settle();
      ASSERT_LE(broken_.size(), 1u) << "seed " << kSeed << ", frame " << sent;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectLivesInOrder()) << "seed " << kSeed << ", frame " << sent;
    events += static_cast<int>(said_.size());
    if (broken_.empty()) {
      ASSERT_TRUE(link_->FreezeAll().ok()) << "it works on";
      continue;
    }
    ++broken;
    ASSERT_TRUE(init_.AgentGone());
    ASSERT_TRUE(absl::IsUnavailable(link_->FreezeAll()));
    const std::string said = said_;
    Settle();
    ASSERT_EQ(said_, said) << "nothing comes after the end";
  }
  // Else it tested less than it says.
  EXPECT_GT(broken, links / 2);
  EXPECT_GT(events, kFrames / 10);
}

// The same of the reply to hello, which is where an init hands out descriptors.
TEST_F(RandomFramesTest, RepliesToHelloThatChanceMadeAreTakenOrRefusedWhole) {
  int taken = 0;
  for (int i = 0; i < kFrames / 20; ++i) {
    StartOver();
    Open();
    ASSERT_TRUE(init_.Hear()->has_hello());
    std::vector<JobState> states;
    for (std::uint64_t n = Below(4); n > 0; --n) {
      JobState state = Running(JobId::Random(random_));
      if (Seldom()) state.set_job_id(std::string(Below(20), 'i'));
      state.set_exited(Below(2) == 0);
      state.set_gone(state.exited() ? Below(2) == 0 : Seldom());
      if (state.exited()) state.set_wait_status(static_cast<std::int32_t>(Below(0x10'000)));
      if (Seldom()) state.set_stdout_fd(static_cast<std::int32_t>(engine_()));
      if (Seldom()) state.set_stdin_fd(static_cast<std::int32_t>(Below(30)) - 2);
      if (Seldom()) state.set_pid(static_cast<std::uint32_t>(engine_()));
      if (Seldom()) state.set_exited_ms_ago(static_cast<std::int64_t>(engine_()));
      states.push_back(std::move(state));
    }
    std::string bytes = init_.Reply(states).SerializeAsString();
    if (Seldom()) bytes[Below(bytes.size())] ^= static_cast<char>(1 << Below(8));
    ASSERT_EQ(::send(init_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    // Should chance have made another agent's reply of it.
    Settle();
    init_.Die();
    Finish();
    ASSERT_TRUE(broken_.empty()) << "the caller of Hello is told";
    if (greeted_->ok()) ++taken;
  }
  EXPECT_GT(taken, kFrames / 100);
}

}  // namespace
}  // namespace sandkeep
