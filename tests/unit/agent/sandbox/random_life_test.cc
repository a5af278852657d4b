// Random calls, clocks and deaths: whatever their order, no command is interrupted by the reaper,
// no more sandboxes run than may, and nothing is left of what is gone.
//
// SANDKEEP_STEPS and SANDKEEP_SEED make it longer, and other.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::IsEmpty;

int NumberFrom(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

class RandomLifeTest : public AgentTest {
 protected:
  RandomLifeTest() {
    limits_.max_running = 2;
    limits_.life_interval = absl::Milliseconds(1);
    limits_.host_interval = absl::Hours(1);
    std::printf("SANDKEEP_SEED=%d\n", seed_);
  }

  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(dice_); }
  std::string Label() { return StrCat("label-", Below(4)); }
  bool IsFull(const absl::Status& status) { return absl::IsResourceExhausted(status); }

  // One that runs until it is ended, or its container is.
  void BeginCommand() {
    const std::string label = Label();
    if (busy_.contains(label)) return;
    auto started = Start(alice_, label, "echo up; exec sleep 10000");
    ASSERT_TRUE(started.ok() || IsFull(started.status())) << started.status();
    if (!started.ok()) return;
    ReadUntil(*started->watcher, "up");
    busy_.emplace(label, started->job.id);
  }

  void EndCommand(const std::string& label) {
    const auto ended =
        Wait(manager().SignalJob(RefOf(alice_, label), busy_.at(label), 9, absl::Milliseconds(1)));
    ASSERT_TRUE(ended.ok()) << ended.status();
    auto watched = Wait(manager().WatchJob(RefOf(alice_, label), busy_.at(label), 0, true));
    ASSERT_TRUE(watched.ok()) << watched.status();
    Outcome outcome;
    ReadToEnd(*watched->watcher, &outcome);
    busy_.erase(label);
  }

  void RunShort() {
    auto started = Start(alice_, Label(), Below(4) == 0 ? "sleep 10000 >/dev/null 2>&1 &" : "true");
    ASSERT_TRUE(started.ok() || IsFull(started.status())) << started.status();
    if (!started.ok()) return;
    Outcome outcome;
    ReadToEnd(*started->watcher, &outcome);
    EXPECT_EQ(outcome.ending, Ending::kExited);
  }

  void PassTime() {
    // Never so long that a command counts as handed back: that has a test of its own.
    const absl::Duration spans[] = {absl::Seconds(1), absl::Minutes(6), absl::Minutes(61)};
    const absl::Duration longer[] = {absl::Hours(13), absl::Hours(24 * 8)};
    clock_.Advance(busy_.empty() ? longer[Below(2)] : spans[Below(busy_.empty() ? 3 : 1)]);
  }

  void HarmTheEngine() {
    const auto containers = runtime_.containers();
    if (containers.empty()) return;
    const EngineName& victim = containers[Below(static_cast<int>(containers.size()))];
    if (Below(2) == 0) {
      runtime_.Kill(victim);
    } else {
      runtime_.RemoveBehind(victim);
    }
    // Which it was shows when the agent has noticed.
    std::erase_if(busy_, [this](const auto& entry) { return !StillRuns(entry.first); });
  }

  bool StillRuns(const std::string& label) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      const auto job = Wait(manager().ListJobs(RefOf(alice_, label), 100));
      if (!job.ok()) return false;
      for (const JobSnapshot& snapshot : *job) {
        if (snapshot.id == busy_.at(label) && snapshot.state == JobState::kEnded) return false;
      }
    }
    return true;
  }

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1:
        return BeginCommand();
      case 2:
      case 3:
        if (!busy_.empty()) return EndCommand(busy_.begin()->first);
        return;
      case 4:
        return PassTime();
      case 5:
        Die();
        return Boot();
      case 6:
        return HarmTheEngine();
      case 7:
        (void)Wait(manager().Freeze(RefOf(alice_, Label())));
        return;
      case 8:
        (void)Wait(manager().Thaw(RefOf(alice_, Label())));
        return;
      case 9: {
        const std::string label = Label();
        if (!busy_.contains(label)) {
          (void)Wait(manager().Remove(RefOf(alice_, label), Below(2) == 0));
        }
        return;
      }
      default:
        return RunShort();
    }
  }

  void ExpectSound() {
    EXPECT_LE(runtime_.running().size(), 2u);
    for (const auto& [label, id] : busy_) {
      const auto sandbox = manager().Get(RefOf(alice_, label));
      ASSERT_TRUE(sandbox.ok()) << label << sandbox.status();
      EXPECT_EQ(sandbox->state, SandboxState::kRunning) << label;
      // One that has just ended beside it may still be counted.
      EXPECT_GE(sandbox->running_jobs, 1) << label;
    }
  }

  void ExpectNothingLeftAfterRemovingAll() {
    busy_.clear();
    const auto list = Wait(manager().List(alice_));
    ASSERT_TRUE(list.ok());
    for (const SandboxSnapshot& sandbox : *list) {
      const auto removed = Wait(manager().Remove(RefOf(alice_, sandbox.label.text()), true));
      EXPECT_TRUE(removed.ok()) << removed.status();
    }
    EXPECT_THAT(runtime_.containers(), IsEmpty());
    EXPECT_THAT(runtime_.volumes(), IsEmpty());
    EXPECT_EQ(Wait(manager().Info())->running, 0);
    EXPECT_TRUE(std::filesystem::is_empty(StrCat(state_dir_, "/spools")));
  }

  // What the engine has too much or too little, by the records; empty: nothing.
  std::string Difference() {
    const auto list = Wait(manager().List(alice_));
    const auto info = Wait(manager().Info());
    if (!list.ok() || !info.ok() || info->warm < limits_.warm) return "not ready";
    std::size_t containers = limits_.warm;
    for (const SandboxSnapshot& sandbox : *list) {
      if (sandbox.state != SandboxState::kAbsent) ++containers;
    }
    const std::size_t volumes = list->size() + limits_.warm;
    if (runtime_.containers().size() == containers && runtime_.volumes().size() == volumes) {
      return "";
    }
    return StrCat(runtime_.containers().size(), " containers of ", containers, ", ",
                  runtime_.volumes().size(), " volumes of ", volumes);
  }

  // The pool fills, and idle ones are frozen and removed, while this looks.
  void ExpectEngineMatchesRecords() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::string difference = Difference();
    while (!difference.empty() && std::chrono::steady_clock::now() < deadline) {
      difference = Difference();
    }
    EXPECT_EQ(difference, "");
  }

  const int seed_ = NumberFrom("SANDKEEP_SEED", static_cast<int>(std::random_device{}() >> 1));
  std::mt19937 dice_{static_cast<unsigned>(seed_)};
  std::map<std::string, JobId> busy_;
};

TEST_F(RandomLifeTest, RandomStepsInterruptNothingExceedNothingAndLeaveNothing) {
  const int steps = NumberFrom("SANDKEEP_STEPS", 400);
  for (int i = 0; i < steps && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Step();
    ExpectSound();
  }
  ExpectNothingLeftAfterRemovingAll();
}

// Calls are under way when the agent dies, at a random moment of each.
TEST_F(RandomLifeTest, AfterAnyDeathTheEnginesObjectsAreThoseOfTheRecords) {
  limits_.max_running = 4;
  limits_.warm = 1;
  for (int i = 0; i < NumberFrom("SANDKEEP_DEATHS", 40) && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const std::string label = Label();
    (void)Begin(manager().StartJob(alice_, label, Command("true")));
    if (Below(2) == 0) (void)Begin(manager().Freeze(RefOf(alice_, label)));
    if (Below(3) == 0) (void)Begin(manager().Remove(RefOf(alice_, Label()), Below(2) == 0));
    if (Below(4) == 0) clock_.Advance(absl::Hours(Below(400)));
    std::this_thread::sleep_for(std::chrono::microseconds(Below(30000)));
    Die();
    Boot();
    ExpectEngineMatchesRecords();
  }
}

}  // namespace
}  // namespace sandkeep
