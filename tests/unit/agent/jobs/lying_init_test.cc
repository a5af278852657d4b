// Jobs in the hands of an init that lies: each still ends once, with every byte that was printed,
// and the sandbox is called broken once.

#include "tests/fakes/lying_init.h"

#include <random>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

using init::v1::FromInit;
using init::v1::ToInit;

constexpr int kRounds = 150;
constexpr int kFramesOfARound = 25;
constexpr std::uint64_t kSeed = 3'112'026;

class LyingInitTest : public JobsTest {
 protected:
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }

  void AttachLiar() {
    liar_ = LyingInit();
    std::optional<absl::Status> attached;
    auto done = [&](std::exception_ptr, absl::Status status) { attached = std::move(status); };
    boost::asio::co_spawn(strand_, table_->Attach(liar_.Container(), lost_), std::move(done));
    RunUntil([&]() { return liar_.Hear().has_value(); });
    ASSERT_TRUE(liar_.Say(liar_.Reply()).ok());
    RunUntil([&]() { return attached.has_value(); });
    ASSERT_TRUE(attached->ok()) << *attached;
    names_.clear();
    jobs_.clear();
    writers_.clear();
    printed_.clear();
  }

  // Takes what the agent said: the names it gave, and the ends that it handed over.
  void HearAll() {
    while (const std::optional<ToInit> frame = liar_.Hear()) {
      if (frame->has_use()) names_.push_back(frame->use().job_id());
      if (!frame->has_start()) continue;
      names_.push_back(frame->start().job_id());
      std::vector<UniqueFd>& ends = liar_.descriptors();
      if (!ends.empty()) writers_[frame->start().job_id()] = std::move(ends.front());
    }
    liar_.descriptors().clear();
  }

  void StartOne() {
    const JobId id = Start(Command("true"));
    jobs_.push_back(id);
    io_.poll();
    HearAll();
    const auto writer = writers_.find(id.bytes());
    if (writer == writers_.end()) return;  // A shell that stood by: its pipe has another name.
    const std::string text(1 + Below(5000), static_cast<char>('a' + Below(26)));
    ASSERT_EQ(::write(writer->second.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    printed_[id] = text;
  }

  std::string AnyName() {
    if (names_.empty() || Below(20) == 0) return JobId::Random(SystemRandom()).bytes();
    return names_[Below(names_.size())];
  }

  FromInit AnyFrame() {
    FromInit frame;
    const std::string name = AnyName();
    switch (Below(8)) {
      case 0:
      case 1:
        frame.mutable_started()->set_job_id(name);
        return frame;
      case 2:
      case 3:
        frame.mutable_exited()->set_job_id(name);
        frame.mutable_exited()->set_wait_status(Below(2) == 0 ? 0 : 9);
        frame.mutable_exited()->set_left_behind(static_cast<std::uint32_t>(Below(3)));
        frame.mutable_exited()->set_gone(Below(2) == 0);
        frame.mutable_exited()->set_supervisor_lost(Below(4) == 0);
        return frame;
      case 4:
        frame.mutable_gone()->set_job_id(name);
        return frame;
      case 5:
        frame.mutable_waiting()->set_job_id(name);
        return frame;
      case 6:
        frame.mutable_refused()->set_job_id(name);
        frame.mutable_refused()->set_reason(static_cast<init::v1::Refused::Reason>(1 + Below(7)));
        frame.mutable_refused()->set_error(static_cast<std::int32_t>(engine_()));
        return frame;
      default:
        frame.mutable_pong();
        if (Below(6) != 0) frame.mutable_port_opened()->set_port(80);
        return frame;
    }
  }

  void ExpectEndedOnce(const JobId& id) {
    const Seen seen = Watch(id);
    ASSERT_TRUE(seen.outcome) << seen.failure;
    EXPECT_TRUE(seen.gaps.empty());
    const auto printed = printed_.find(id);
    if (printed == printed_.end()) return;
    EXPECT_TRUE(seen.out == printed->second) << seen.out.size();
  }

  std::mt19937_64 engine_{kSeed};
  LyingInit liar_;
  std::vector<std::string> names_;
  std::vector<JobId> jobs_;
  std::map<std::string, UniqueFd> writers_;
  std::map<JobId, std::string> printed_;
};

TEST_F(LyingInitTest, EveryJobEndsOnceAndWholeWhateverInitSays) {
  RecordProperty("seed", std::to_string(kSeed));
  std::size_t lies = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(StrCat("seed ", kSeed, ", round ", round));
    broken_.clear();
    ASSERT_NO_FATAL_FAILURE(AttachLiar());
    ASSERT_NO_FATAL_FAILURE(StartOne());
    for (int i = 0; i < kFramesOfARound && broken_.empty(); ++i) {
      if (Below(8) == 0) {
        ASSERT_NO_FATAL_FAILURE(StartOne());
      }
      if (!liar_.Say(AnyFrame()).ok()) break;
      io_.poll();
      HearAll();
    }
    if (broken_.empty()) {
      liar_.Die();
      RunUntil([&]() { return !broken_.empty(); });
    } else if (absl::IsDataLoss(broken_[0])) {
      ++lies;
    }
    ASSERT_TRUE(Await(table_->Detach(lost_)).ok());
    for (const JobId& id : jobs_) ASSERT_NO_FATAL_FAILURE(ExpectEndedOnce(id));
    io_.poll();
    ASSERT_EQ(broken_.size(), 1u);
    ASSERT_EQ(table_->running(), 0);
    ASSERT_EQ(table_->left_behind(), 0);
  }
  EXPECT_GT(lies, static_cast<std::size_t>(kRounds) / 4);
  // And an honest one after all of them.
  ASSERT_TRUE(Attach().ok());
  EXPECT_EQ(Run("echo fine").out, "fine\n");
}

}  // namespace
}  // namespace sandkeep
