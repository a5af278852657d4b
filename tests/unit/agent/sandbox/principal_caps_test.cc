// What one principal may have at most: whoever has all of it is told so, and nobody else notices.

#include <gmock/gmock.h>

#include <csignal>
#include <memory>
#include <optional>
#include <vector>

#include "agent/sandbox/binding.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/this_process.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;

class PrincipalCapsTest : public AgentTest {
 protected:
  // As an agent finds them that has lost its database: made at different times, the last one first.
  void FillWithSandboxes(int count) {
    for (int i = 0; i < count; ++i) {
      const Label label = *Label::Parse(StrCat("box-", i));
      const Binding binding{.key = KeyOf(i),
                            .principal = alice_,
                            .label = label,
                            .generation = Generation::Random(random_),
                            .created = absl::FromUnixSeconds(1'700'000'000 - i)};
      const EngineName volume = EngineName::Make(random_);
      ASSERT_TRUE(Wait(runtime_.CreateVolume(volume, FormatBinding(binding))).ok());
    }
  }
  static SandboxKey KeyOf(int i) { return SandboxKey::Make("box", StrCat(1'000'000'000 + i)); }
  std::string RefusalOf(const PrincipalId& principal, std::string label) {
    const auto started = Start(principal, std::move(label), "true");
    EXPECT_TRUE(absl::IsResourceExhausted(started.status())) << started.status();
    return std::string(ToStd(started.status().message()));
  }
};

TEST_F(PrincipalCapsTest, WhoHasAllSandboxesIsToldTheFiveOldestAndNobodyElseIsRefused) {
  FillWithSandboxes(kMaxSandboxesEach);
  Die();
  Boot();

  const std::string told = RefusalOf(alice_, "one-more");

  EXPECT_THAT(told, HasSubstr("you have as many sandboxes as you may"));
  const int last = kMaxSandboxesEach - 1;
  for (int i = last; i > last - 5; --i) EXPECT_THAT(told, HasSubstr(StrCat("box-", i)));
  EXPECT_THAT(told, testing::Not(HasSubstr(StrCat("box-", last - 5))));
  EXPECT_EQ(OutputOf(alice_, KeyOf(0).text(), "echo works"), "works\n");
  EXPECT_EQ(OutputOf(bob_, "one-more", "echo works"), "works\n");
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, KeyOf(last).text()), true)).ok());
  EXPECT_EQ(OutputOf(alice_, "one-more", "echo works"), "works\n");
}

TEST_F(PrincipalCapsTest, WhoWaitsForAllThatMayBeWaitedForIsRefusedUntilAWaitEnds) {
  auto job = Start(alice_, "otter", "sleep 1000");
  ASSERT_TRUE(job.ok()) << job.status();
  const SandboxRef otter = RefOf(alice_, "otter");
  std::vector<std::unique_ptr<JobWatcher>> waits;
  while (waits.size() + 1 < kMaxWaitsEach) {
    auto watched = Wait(manager().WatchJob(otter, job->job.id, 0, true));
    ASSERT_TRUE(watched.ok()) << watched.status() << " at " << waits.size();
    waits.push_back(std::move(watched->watcher));
  }

  const auto refused = Wait(manager().WatchJob(otter, job->job.id, 0, true));

  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_THAT(RefusalOf(alice_, "badger"), HasSubstr("of your calls wait for commands already"));
  EXPECT_TRUE(Wait(manager().WatchJob(otter, job->job.id, 0, false)).ok()) << "only to look";
  EXPECT_EQ(OutputOf(bob_, "otter", "echo works"), "works\n");
  waits.pop_back();
  EXPECT_TRUE(Wait(manager().WatchJob(otter, job->job.id, 0, true)).ok());
}

TEST_F(PrincipalCapsTest, WhoRunsAllCommandsThatMayRunIsRefusedUntilOneEnds) {
  RaiseDescriptorLimit();  // Each of them has a pipe.
  limits_.max_running = 3;
  Die();
  Boot();
  std::optional<StartedJob> last;
  for (int i = 0; i < kMaxRunningJobsEach; ++i) {
    auto started = Start(alice_, i % 2 == 0 ? "otter" : "badger", "exec sleep 1000");
    ASSERT_TRUE(started.ok()) << started.status() << " at " << i;
    last = *std::move(started);
  }

  EXPECT_THAT(RefusalOf(alice_, "otter"), HasSubstr("of your commands run already"));
  EXPECT_THAT(RefusalOf(alice_, "one-more"), HasSubstr("of your commands run already"));
  EXPECT_EQ(OutputOf(bob_, "otter", "echo works"), "works\n");

  const SandboxRef badger = RefOf(alice_, "badger");
  ASSERT_TRUE(Wait(manager().SignalJob(badger, last->job.id, SIGKILL, absl::Milliseconds(1))).ok());
  Outcome outcome;
  ReadToEnd(*last->watcher, &outcome);
  EXPECT_TRUE(Start(alice_, "otter", "true").ok());
}

}  // namespace
}  // namespace sandkeep
