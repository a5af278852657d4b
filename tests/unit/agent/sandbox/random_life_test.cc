// Random calls, files, clocks, deaths, and an engine that fails or hangs: whatever their order, no
// command is interrupted by the reaper, no more sandboxes run than may, no file is lost, and
// nothing is left of what is gone.
//
// SANDKEEP_STEPS and SANDKEEP_SEED make it longer, and other.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>

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
    limits_.sweep_interval = absl::Milliseconds(20);
    limits_.gc_delete = true;
    // Whose files are old enough to go has tests of its own.
    limits_.volume_ttl = absl::InfiniteDuration();
    std::printf("SANDKEEP_SEED=%d\n", seed_);
  }

  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(dice_); }
  std::string Label() { return StrCat("label-", Below(4)); }
  // No place, or the engine failed, or a container went just now.
  static bool MayBeRefused(const absl::Status& status) {
    constexpr absl::StatusCode kAllowed[] = {
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable,
        absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kInternal,
        absl::StatusCode::kFailedPrecondition};
    return std::find(std::begin(kAllowed), std::end(kAllowed), status.code()) != std::end(kAllowed);
  }

  // One that runs until it is ended, or its container is.
  void BeginCommand() {
    const std::string label = Label();
    if (busy_.contains(label)) return;
    SCOPED_TRACE(StrCat("begins a command in ", label));
    auto started = Start(alice_, label, "echo up; exec sleep 10000");
    ASSERT_TRUE(started.ok() || MayBeRefused(started.status())) << started.status();
    if (!started.ok()) return;
    std::string output;
    while (output.find("up") == std::string::npos) {
      absl::StatusOr<JobEvent> event = Wait(started->watcher->Next());
      ASSERT_TRUE(event.ok()) << event.status();
      output += event->output.data;
      if (event->kind == JobEvent::Kind::kOutcome) return ExpectMayEnd(label, event->outcome);
    }
    harmed_.erase(label);
    busy_.emplace(label, started->job.id);
  }

  // Only with a container that somebody killed, which the agent needn't have heard of yet.
  void ExpectMayEnd(const std::string& label, const Outcome& outcome) {
    EXPECT_TRUE(harmed_.erase(label) > 0) << outcome.remedy;
    EXPECT_EQ(outcome.ending, Ending::kSandboxGone) << outcome.remedy;
  }

  // ` label=state` of each, as in SandboxState.
  std::string States() {
    std::string states;
    const auto listed = Wait(manager().List(alice_));
    for (const SandboxSnapshot& sandbox : *listed) {
      StrAppend(&states, " ", sandbox.label.text(), "=", static_cast<int>(sandbox.state));
    }
    return states;
  }

  // One that lost its place to an engine that failed waits for another, and may wait for as long as
  // the commands of others run.
  std::string OneThatMayEnd() {
    for (const auto& [label, id] : busy_) {
      const auto sandbox = manager().Get(RefOf(alice_, label));
      if (sandbox.ok() && sandbox->state == SandboxState::kRunning) return label;
    }
    return busy_.begin()->first;
  }

  void EndCommand(const std::string& label) {
    SCOPED_TRACE(StrCat("ends a command in ", label, " beside", States()));
    runtime_.Heal();  // Or it would wait for its sandbox to be taken over.
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
    const std::string label = Label();
    SCOPED_TRACE(StrCat("runs something short in ", label));
    auto started = Start(alice_, label, Below(4) == 0 ? "sleep 10000 >/dev/null 2>&1 &" : "true");
    ASSERT_TRUE(started.ok() || MayBeRefused(started.status())) << started.status();
    if (!started.ok()) return;
    ExpectEnds(label, *started);
  }

  void ExpectEnds(const std::string& label, const StartedJob& started) {
    Outcome outcome;
    ReadToEnd(*started.watcher, &outcome);
    if (outcome.ending != Ending::kExited) return ExpectMayEnd(label, outcome);
    harmed_.erase(label);
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
    const std::string key = runtime_.hostname(victim);
    const auto list = Wait(manager().List(alice_));
    ASSERT_TRUE(list.ok()) << list.status();
    for (const SandboxSnapshot& sandbox : *list) {
      if (sandbox.key.text() != key) continue;
      busy_.erase(sandbox.label.text());
      harmed_.insert(sandbox.label.text());
    }
    if (Below(2) == 0) {
      runtime_.Kill(victim);
    } else {
      runtime_.RemoveBehind(victim);
    }
  }

  EngineCall AnyCall() {
    constexpr EngineCall kCalls[] = {EngineCall::kCreateVolume, EngineCall::kBindVolume,
                                     EngineCall::kStart,        EngineCall::kAttach,
                                     EngineCall::kStop,         EngineCall::kRemove,
                                     EngineCall::kFreeze,       EngineCall::kThaw,
                                     EngineCall::kListOurs,     EngineCall::kRemoveVolume};
    return kCalls[Below(std::size(kCalls))];
  }

  void ScriptAFailure() {
    const EngineCall call = AnyCall();
    const absl::Status failures[] = {absl::UnavailableError("engine hangs"),
                                     absl::DeadlineExceededError("engine is slow"),
                                     absl::InternalError("its layer is damaged")};
    // Only of a start that says so is a container past repair.
    const absl::Status& failure = failures[Below(call == EngineCall::kStart ? 3 : 2)];
    // A volume that is gone although the engine said no is seen at the next start only.
    if (call != EngineCall::kRemoveVolume && Below(2) == 0) {
      runtime_.FailAfterwards(call, failure);
    } else {
      runtime_.Fail(call, failure, 1 + Below(3));
    }
  }

  // Two calls at once, while the engine hangs for a moment.
  void HangTheEngine() {
    const EngineCall held = AnyCall();
    runtime_.Hold(held);
    const std::string label = Label();
    SCOPED_TRACE(
        StrCat("runs something in ", label, " while call ", static_cast<int>(held), " hangs"));
    auto started = Begin(manager().StartJob(alice_, label, Command("true")));
    const std::string other = Label();
    std::optional<std::future<absl::StatusOr<SandboxSnapshot>>> frozen;
    const bool frozen_too = Below(2) == 0;
    if (frozen_too) frozen = Begin(manager().Freeze(RefOf(alice_, other)));
    std::this_thread::sleep_for(std::chrono::microseconds(Below(3000)));
    runtime_.Release(held);
    if (frozen_too) (void)Wait(*std::move(frozen));
    const absl::StatusOr<StartedJob> done = Wait(std::move(started));
    EXPECT_TRUE(done.ok() || MayBeRefused(done.status())) << done.status();
    // A frozen one would end when somebody thaws it.
    if (done.ok() && (!frozen_too || other != label)) ExpectEnds(label, *done);
  }

  void WriteAFile() {
    if (!HasFiles()) return;
    const std::string label = Label();
    SCOPED_TRACE(StrCat("writes a file in ", label));
    auto file = Wait(manager().CreateFile(RefOf(alice_, label), *RelPath::Parse("file"), {}));
    if (!file.ok()) {
      EXPECT_TRUE(MayBeRefused(file.status())) << file.status();
      return;
    }
    const std::string text = StrCat("text ", Below(1000000));
    ASSERT_EQ(::write(file->file->file().get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    const absl::Status taken = Wait(manager().CommitFile(*std::move(file), {})).status();
    ASSERT_TRUE(taken.ok()) << taken;
    files_[label] = text;
  }

  void ExpectFiles() {
    for (const auto& [label, text] : files_) {
      SCOPED_TRACE(StrCat("reads the file in ", label));
      const auto file = Wait(manager().OpenFile(RefOf(alice_, label), *RelPath::Parse("file")));
      ASSERT_TRUE(file.ok()) << label << file.status();
      std::string read(text.size() + 1, '\0');
      const ssize_t size = ::pread(file->file.get(), read.data(), read.size(), 0);
      read.resize(std::max<ssize_t>(size, 0));
      EXPECT_EQ(read, text) << label;
    }
  }

  void RemoveOne() {
    const std::string label = Label();
    if (busy_.contains(label)) return;
    const bool with_files = Below(2) == 0;
    SCOPED_TRACE(StrCat("removes ", label));
    // What an engine that fails leaves of it may be anything.
    if (with_files) files_.erase(label);
    const bool removed = Wait(manager().Remove(RefOf(alice_, label), with_files)).ok();
    if (removed) harmed_.erase(label);
  }

  void NextAgent() {
    SCOPED_TRACE("another agent");
    Die();
    BootWithoutRecovery();
    for (int tries = 0; tries < 10; ++tries) {
      if (Wait(manager().Recover()).ok()) return;
    }
    ADD_FAILURE() << "it never recovers";
  }

  void Step() {
    switch (Below(18)) {
      case 0:
      case 1:
        return BeginCommand();
      case 2:
      case 3:
        if (!busy_.empty()) return EndCommand(OneThatMayEnd());
        return;
      case 4:
        return PassTime();
      case 5:
        return NextAgent();
      case 6:
        return HarmTheEngine();
      case 7:
        (void)Wait(manager().Freeze(RefOf(alice_, Label())));
        return;
      case 8:
        (void)Wait(manager().Thaw(RefOf(alice_, Label())));
        return;
      case 9:
        return RemoveOne();
      case 10:
      case 11:
        return ScriptAFailure();
      case 12:
        return HangTheEngine();
      case 13:
        return WriteAFile();
      case 14:
        return ExpectFiles();
      case 15:
        (void)Wait(manager().CollectGarbage(false));
        return;
      default:
        return RunShort();
    }
  }

  void ExpectSound() {
    EXPECT_LE(runtime_.running().size(), 2u);
    for (const auto& [label, id] : busy_) {
      const auto sandbox = manager().Get(RefOf(alice_, label));
      ASSERT_TRUE(sandbox.ok()) << label << sandbox.status();
      // One that an agent couldn't take over counts as frozen until it can.
      EXPECT_THAT(sandbox->state, testing::AnyOf(SandboxState::kRunning, SandboxState::kFrozen,
                                                 SandboxState::kStarting))
          << label;
      // One that has just ended beside it may still be counted.
      EXPECT_GE(sandbox->running_jobs, 1) << label;
    }
  }

  void ExpectNothingLeftAfterRemovingAll() {
    busy_.clear();
    runtime_.Heal();
    ExpectFiles();
    const auto list = Wait(manager().List(alice_));
    ASSERT_TRUE(list.ok());
    for (const SandboxSnapshot& sandbox : *list) {
      const auto removed = Wait(manager().Remove(RefOf(alice_, sandbox.label.text()), true));
      EXPECT_TRUE(removed.ok()) << removed.status();
    }
    // What an agent found to be nobody's is removed by its sweep.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!runtime_.containers().empty() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
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

  const int seed_ = NumberFrom("SANDKEEP_SEED", 1);
  std::mt19937 dice_{static_cast<unsigned>(seed_)};
  std::map<std::string, JobId> busy_;
  std::set<std::string> harmed_;              // Killed or removed by hand: no command ran since.
  std::map<std::string, std::string> files_;  // What `file` says, by label.
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
