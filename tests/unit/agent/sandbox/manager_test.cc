// Which sandbox a call means, and how it comes up.

#include <gmock/gmock.h>

#include <filesystem>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using ManagerTest = AgentTest;

TEST_F(ManagerTest, TheFirstCommandMakesASandboxAndTheSecondFindsIt) {
  const auto first = Run(alice_, "amber-otter", "echo hello; echo kept > file");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->output, "hello\n");
  EXPECT_EQ(first->outcome.ending, Ending::kExited);
  EXPECT_EQ(first->started.arrival, Arrival::kNew);
  EXPECT_EQ(first->started.last_used_before, absl::InfinitePast());

  clock_.Advance(absl::Minutes(40));
  const auto second = Run(alice_, "amber-otter", "cat file");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->output, "kept\n");
  EXPECT_EQ(second->started.arrival, Arrival::kRunning);
  EXPECT_EQ(clock_.Now() - second->started.last_used_before, absl::Minutes(40));
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
}

TEST_F(ManagerTest, LabelsThatNormaliseAlikeAreOneSandbox) {
  OutputOf(alice_, "Amber Otter", "echo 1 > file");
  EXPECT_EQ(OutputOf(alice_, "amber-otter", "cat file"), "1\n");
  EXPECT_EQ(OutputOf(alice_, "  AMBER__otter!", "cat file"), "1\n");
  EXPECT_THAT(*Wait(manager().List(alice_)), SizeIs(1));
}

TEST_F(ManagerTest, TwoPrincipalsWithOneLabelNeverMeet) {
  const auto hers = Run(alice_, "amber-otter", "echo secret > file; ls");
  const auto his = Run(bob_, "amber-otter", "ls");
  ASSERT_TRUE(hers.ok() && his.ok());
  EXPECT_EQ(his->output, "");
  EXPECT_EQ(his->started.arrival, Arrival::kNew);
  EXPECT_NE(hers->started.sandbox.key, his->started.sandbox.key);
  EXPECT_THAT(*Wait(manager().List(alice_)), SizeIs(1));
  EXPECT_THAT(*Wait(manager().List(std::nullopt)), SizeIs(2));
}

TEST_F(ManagerTest, AKeyInTheLabelsPlaceNamesItsSandboxForItsOwnerOnly) {
  const auto hers = Run(alice_, "amber-otter", "echo secret > file");
  ASSERT_TRUE(hers.ok());
  const std::string key = hers->started.sandbox.key.text();

  EXPECT_EQ(OutputOf(alice_, key, "cat file"), "secret\n");
  EXPECT_EQ(manager().Get(RefOf(alice_, key))->key.text(), key);
  // Somebody else's key is a label like any other.
  const auto his = Run(bob_, key, "ls");
  ASSERT_TRUE(his.ok());
  EXPECT_EQ(his->output, "");
  EXPECT_NE(his->started.sandbox.key.text(), key);
}

TEST_F(ManagerTest, UnknownAndForeignSandboxesGetTheSameAnswer) {
  const auto hers = Run(alice_, "amber-otter", "true");
  ASSERT_TRUE(hers.ok());
  const SandboxKey key = hers->started.sandbox.key;

  const absl::Status unknown = manager().Get(RefOf(bob_, "no-such")).status();
  const absl::Status foreign = manager().Get(RefOf(bob_, "amber-otter")).status();
  const absl::Status foreign_key =
      manager().Get({.principal = bob_, .label = "", .key = key}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(foreign, unknown);
  EXPECT_EQ(foreign_key, unknown);
  EXPECT_EQ(Wait(manager().ListJobs(RefOf(bob_, "amber-otter"), 5)).status(), unknown);
  EXPECT_EQ(Wait(manager().Remove(RefOf(bob_, "amber-otter"), true)).status(), unknown);
  EXPECT_EQ(Wait(manager().StatFile(RefOf(bob_, "amber-otter"), *RelPath::Parse("file"))).status(),
            unknown);
  EXPECT_EQ(Wait(manager().SendInput(RefOf(bob_, "amber-otter"), hers->started.job.id, "x", true))
                .status(),
            unknown);
  EXPECT_EQ(Wait(manager().WatchJob(RefOf(bob_, "amber-otter"), std::nullopt, 0, false)).status(),
            unknown);
  // Whose link it is has been checked by who signed it.
  EXPECT_TRUE(manager().Get({.principal = std::nullopt, .label = "", .key = key}).ok());
  EXPECT_EQ(manager().Get({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ManagerTest, ALabelThatIsNoneIsRefusedBeforeAnythingIsMade) {
  for (const std::string& label : {std::string(), std::string("!!!"), std::string(65, 'a')}) {
    EXPECT_EQ(Start(alice_, label, "true").status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(runtime_.calls(EngineCall::kCreateVolume), 0);
}

TEST_F(ManagerTest, ConcurrentFirstCallsShareOneStart) {
  runtime_.Hold(EngineCall::kStart);
  std::vector<std::future<absl::StatusOr<StartedJob>>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(Begin(manager().StartJob(alice_, "amber-otter", Command(StrCat("echo ", i)))));
  }
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kStart, 1));
  runtime_.Release(EngineCall::kStart);

  for (int i = 0; i < 8; ++i) {
    auto started = Wait(std::move(calls[i]));
    ASSERT_TRUE(started.ok()) << started.status();
    Outcome outcome;
    EXPECT_EQ(ReadToEnd(*started->watcher, &outcome), StrCat(i, "\n"));
  }
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
  EXPECT_EQ(runtime_.calls(EngineCall::kCreateVolume), 1);
}

TEST_F(ManagerTest, AFailedStartTellsEveryWaiterLeavesNothingAndTheNextCallWorks) {
  runtime_.Hold(EngineCall::kStart);
  runtime_.Fail(EngineCall::kStart, absl::FailedPreconditionError("no image: build it"));
  std::vector<std::future<absl::StatusOr<StartedJob>>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(Begin(manager().StartJob(alice_, "amber-otter", Command("true"))));
  }
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kStart, 1));
  runtime_.Release(EngineCall::kStart);

  std::vector<absl::Status> errors;
  for (auto& call : calls) errors.push_back(Wait(std::move(call)).status());
  // A call that came only after the failure is the next call.
  EXPECT_THAT(errors, testing::Contains(absl::FailedPreconditionError("no image: build it")));
  for (const absl::Status& error : errors) {
    EXPECT_TRUE(error.ok() || absl::IsFailedPrecondition(error)) << error;
  }
  const auto next = Run(alice_, "amber-otter", "echo up");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->output, "up\n");
}

TEST_F(ManagerTest, AFailedFirstStartLeavesNothing) {
  runtime_.FailAfterwards(EngineCall::kStart, absl::InternalError("conmon died"));

  EXPECT_EQ(Start(alice_, "amber-otter", "true").status(), absl::InternalError("conmon died"));

  EXPECT_THAT(runtime_.containers(), IsEmpty());
  EXPECT_THAT(runtime_.volumes(), IsEmpty());
  EXPECT_THAT(*Wait(manager().List(std::nullopt)), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(state_dir_ + "/spools"));
  EXPECT_EQ(Wait(manager().Info())->running, 0);
}

TEST_F(ManagerTest, AFailedVolumeLeavesNothing) {
  runtime_.FailAfterwards(EngineCall::kCreateVolume, absl::ResourceExhaustedError("disk full"));

  EXPECT_EQ(Start(alice_, "amber-otter", "true").status(),
            absl::ResourceExhaustedError("disk full"));

  EXPECT_THAT(runtime_.volumes(), IsEmpty());
  EXPECT_EQ(Run(alice_, "amber-otter", "true")->started.arrival, Arrival::kNew);
}

TEST_F(ManagerTest, AFailedRestartKeepsTheFiles) {
  OutputOf(alice_, "amber-otter", "echo kept > file");
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "amber-otter"), false)).ok());
  runtime_.FailAfterwards(EngineCall::kStart, absl::InternalError("conmon died"));
  EXPECT_FALSE(Start(alice_, "amber-otter", "true").ok());

  const auto next = Run(alice_, "amber-otter", "cat file");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->output, "kept\n");
  EXPECT_EQ(next->started.arrival, Arrival::kRebuilt);
  EXPECT_THAT(runtime_.containers(), SizeIs(1));
}

TEST_F(ManagerTest, AStartWhoseCleaningUpFailsTooIsClearedByTheNextCall) {
  runtime_.FailAfterwards(EngineCall::kStart, absl::InternalError("conmon died"));
  runtime_.Fail(EngineCall::kRemove, absl::UnavailableError("engine hangs"));
  EXPECT_FALSE(Start(alice_, "amber-otter", "true").ok());
  EXPECT_THAT(runtime_.containers(), SizeIs(1));

  const auto next = Run(alice_, "amber-otter", "echo up");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->started.arrival, Arrival::kNew);
  EXPECT_THAT(runtime_.containers(), SizeIs(1));
  EXPECT_EQ(Wait(manager().Info())->running, 1);
}

TEST_F(ManagerTest, ACallerThatLeavesDuringTheStartBreaksNothing) {
  runtime_.Hold(EngineCall::kStart);
  auto call = Begin(manager().StartJob(alice_, "amber-otter", Command("echo ran > file")));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kStart, 1));
  runtime_.Release(EngineCall::kStart);
  // Nobody reads what it printed.
  ASSERT_TRUE(Wait(std::move(call)).ok());
  EXPECT_TRUE(Run(alice_, "amber-otter", "true").ok());
}

TEST_F(ManagerTest, ARetryWithTheSameIdAttachesInsteadOfRunningTwice) {
  const JobSpec spec = Command("echo once >> file; cat file");
  Outcome outcome;
  for (int i = 0; i < 2; ++i) {
    auto started = Wait(manager().StartJob(alice_, "amber-otter", spec));
    ASSERT_TRUE(started.ok()) << started.status();
    EXPECT_EQ(ReadToEnd(*started->watcher, &outcome), "once\n");
  }
  // Even when its container is gone, and without making another.
  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "amber-otter"), false)).ok());
  auto started = Wait(manager().StartJob(alice_, "amber-otter", spec));
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_EQ(ReadToEnd(*started->watcher, &outcome), "once\n");
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
}

TEST_F(ManagerTest, ATimeoutAboveTheCeilingIsLoweredAndSaidSo) {
  JobSpec spec = Command("true");
  spec.timeout = absl::Hours(5);
  auto lowered = Wait(manager().StartJob(alice_, "amber-otter", spec));
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->timeout_lowered_to, limits_.max_timeout);

  spec = Command("true");
  spec.timeout = absl::Seconds(5);
  EXPECT_EQ(Wait(manager().StartJob(alice_, "amber-otter", spec))->timeout_lowered_to,
            std::nullopt);
  // Without one it may run as long as background jobs may.
  EXPECT_EQ(Start(alice_, "amber-otter", "true")->timeout_lowered_to, std::nullopt);
}

TEST_F(ManagerTest, RemovingKeepsTheFilesUnlessAsked) {
  OutputOf(alice_, "amber-otter", "echo kept > file");
  const SandboxRef ref = RefOf(alice_, "amber-otter");

  const auto removed = Wait(manager().Remove(ref, false));
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_TRUE(removed->container);
  EXPECT_FALSE(removed->volume);
  EXPECT_THAT(runtime_.containers(), IsEmpty());
  EXPECT_EQ(manager().Get(ref)->state, SandboxState::kAbsent);
  EXPECT_FALSE(Wait(manager().Remove(ref, false))->container);

  const auto rebuilt = Run(alice_, "amber-otter", "cat file");
  EXPECT_EQ(rebuilt->output, "kept\n");
  EXPECT_EQ(rebuilt->started.arrival, Arrival::kRebuilt);
}

TEST_F(ManagerTest, RemovingTheVolumeForgetsTheSandboxAndItsLinks) {
  const auto first = Run(alice_, "amber-otter", "echo old > file");
  ASSERT_TRUE(first.ok());

  const auto removed = Wait(manager().Remove(RefOf(alice_, "amber-otter"), true));
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_TRUE(removed->volume);
  EXPECT_THAT(runtime_.volumes(), IsEmpty());
  EXPECT_EQ(manager().Get(RefOf(alice_, "amber-otter")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(state_dir_ + "/spools"));

  const auto second = Run(alice_, "amber-otter", "ls");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->output, "");
  EXPECT_EQ(second->started.arrival, Arrival::kNew);
  EXPECT_EQ(second->started.sandbox.key, first->started.sandbox.key);
  EXPECT_NE(second->started.sandbox.generation, first->started.sandbox.generation);
}

TEST_F(ManagerTest, RemovingEndsARunningCommandAndSaysWhy) {
  auto started = Start(alice_, "amber-otter", "echo up; sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");

  ASSERT_TRUE(Wait(manager().Remove(RefOf(alice_, "amber-otter"), false)).ok());

  Outcome outcome;
  ReadToEnd(*started->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kSandboxGone);
  EXPECT_THAT(outcome.remedy, HasSubstr("removed"));
}

TEST_F(ManagerTest, AContainerRemovedBehindOurBackEndsItsJobsAndIsRebuiltWithItsFiles) {
  auto started = Start(alice_, "amber-otter", "echo kept > file; echo up; sleep 1000");
  ASSERT_TRUE(started.ok());
  ReadUntil(*started->watcher, "up");

  runtime_.RemoveBehind(runtime_.containers().at(0));

  Outcome outcome;
  ReadToEnd(*started->watcher, &outcome);
  EXPECT_EQ(outcome.ending, Ending::kSandboxGone);
  EXPECT_THAT(outcome.remedy, HasSubstr("run it again"));
  EXPECT_TRUE(Becomes(RefOf(alice_, "amber-otter"), SandboxState::kAbsent));
  const auto next = Run(alice_, "amber-otter", "cat file");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->output, "kept\n");
  EXPECT_EQ(next->started.arrival, Arrival::kRebuilt);
  EXPECT_THAT(next->started.notes, ElementsAre(HasSubstr("sleep 1000")));
  EXPECT_THAT(Run(alice_, "amber-otter", "true")->started.notes, IsEmpty());
}

TEST_F(ManagerTest, AnInitThatDiesLeavesAStoppedContainerWithAllThatWasInstalled) {
  OutputOf(alice_, "amber-otter", "echo kept > file");
  runtime_.Kill(runtime_.containers().at(0));
  EXPECT_TRUE(Becomes(RefOf(alice_, "amber-otter"), SandboxState::kStopped));
  EXPECT_THAT(runtime_.containers(), SizeIs(1));
  EXPECT_EQ(Wait(manager().Info())->running, 0);

  const auto next = Run(alice_, "amber-otter", "cat file");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->started.arrival, Arrival::kRestarted);
  EXPECT_EQ(next->output, "kept\n");
  EXPECT_EQ(Wait(manager().Info())->running, 1);
}

TEST_F(ManagerTest, ListingShowsTheMostRecentlyUsedFirstAndIsNotActivity) {
  for (const char* label : {"one", "two"}) {
    OutputOf(alice_, label, "true");
    clock_.Advance(absl::Minutes(1));
  }
  for (int i = 0; i < 2; ++i) {
    const auto list = Wait(manager().List(alice_));
    ASSERT_THAT(*list, SizeIs(2));
    EXPECT_EQ(list->at(0).label.text(), "two");
    EXPECT_EQ(list->at(1).label.text(), "one");
    EXPECT_TRUE(manager().Get(RefOf(alice_, "one")).ok());
  }
}

}  // namespace
}  // namespace sandkeep
