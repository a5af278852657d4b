// A sandbox that is being removed: whoever makes another of the same name meanwhile loses nothing
// to it, and no file that somebody was told of goes with it.

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class RemovalTest : public AgentTest {
 protected:
  RemovalTest() { limits_.gc_delete = true; }

  std::filesystem::path Spools() const { return state_dir_ + "/spools"; }
  SandboxRef Otter() { return RefOf(alice_, "otter"); }

  // So much that its removal takes a while.
  void FillSpools(const SandboxKey& key) {
    for (int i = 0; i < 2000; ++i) std::ofstream(Spools() / key.text() / StrCat("more-", i));
  }

  absl::StatusOr<SandboxNewFile> Write(const std::string& path, const std::string& text) {
    auto file = Wait(manager().CreateFile(Otter(), *RelPath::Parse(path), {}));
    if (!file.ok()) return file;
    const ssize_t written = ::write(file->file->file().get(), text.data(), text.size());
    EXPECT_EQ(written, static_cast<ssize_t>(text.size()));
    return file;
  }
  absl::Status Commit(SandboxNewFile file) {
    return Wait(manager().CommitFile(std::move(file), {})).status();
  }
  // What removed volumes held is deleted, sooner or later.
  bool Empties() const {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (runtime_.removed() > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return runtime_.removed() == 0;
  }
  // A container that no sandbox has: garbage.
  void MakeStray() {
    const EngineName volume = EngineName::Make(random_);
    ASSERT_TRUE(Wait(runtime_.CreateVolume(volume, "")).ok());
    ASSERT_TRUE(Wait(runtime_.Start(EngineName::Make(random_), volume, "stray")).ok());
  }
};

TEST_F(RemovalTest, OneMadeAnewAtOnceKeepsItsOutput) {
  auto first = Run(alice_, "otter", "echo old");
  ASSERT_TRUE(first.ok()) << first.status();
  FillSpools(first->started.sandbox.key);
  first->started.watcher.reset();

  auto removed = Begin(manager().Remove(Otter(), true));
  while (manager().Get(Otter()).ok()) std::this_thread::yield();
  const auto second = Run(alice_, "otter", "echo new");
  ASSERT_TRUE(Wait(std::move(removed)).ok());

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->output, "new\n");
  auto watched = Wait(manager().WatchJob(Otter(), second->started.job.id, 0, false));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "new\n");
}

TEST_F(RemovalTest, GarbageThatBecameSomebodysIsKept) {
  auto first = Run(alice_, "otter", "true");
  ASSERT_TRUE(first.ok()) << first.status();
  const SandboxKey key = first->started.sandbox.key;
  first->started.watcher.reset();
  ASSERT_TRUE(Wait(manager().Remove(Otter(), true)).ok());
  std::filesystem::create_directory(Spools() / key.text());
  MakeStray();
  const int removals = runtime_.calls(EngineCall::kRemove);
  runtime_.Hold(EngineCall::kRemove);
  auto collected = Begin(manager().CollectGarbage(false));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kRemove, removals + 1));

  const auto again = Run(alice_, "otter", "echo kept");
  runtime_.Release(EngineCall::kRemove);
  ASSERT_TRUE(Wait(std::move(collected)).ok());

  ASSERT_TRUE(again.ok()) << again.status();
  auto watched = Wait(manager().WatchJob(Otter(), again->started.job.id, 0, false));
  ASSERT_TRUE(watched.ok()) << watched.status();
  Outcome outcome;
  EXPECT_EQ(ReadToEnd(*watched->watcher, &outcome), "kept\n");
}

TEST_F(RemovalTest, WhatADeadAgentHadSetAsideIsSweptAtTheNextStart) {
  OutputOf(alice_, "otter", "true");
  Die();
  std::filesystem::create_directory(Spools() / ".gone-0123");
  std::ofstream(Spools() / ".gone-0123" / "output") << "old";
  Boot();
  EXPECT_FALSE(std::filesystem::exists(Spools() / ".gone-0123"));
  EXPECT_FALSE(std::filesystem::is_empty(Spools()));
}

TEST_F(RemovalTest, NobodyWaitsForItsFilesToGo) {
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kEmptyRemoved, 1));  // The start's.
  OutputOf(alice_, "otter", "echo old >file");
  runtime_.Hold(EngineCall::kEmptyRemoved);

  const auto removed = Wait(manager().Remove(Otter(), true));

  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_TRUE(removed->volume);
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kEmptyRemoved, 2));
  EXPECT_EQ(runtime_.removed(), 1U);
  EXPECT_EQ(OutputOf(alice_, "otter", "ls -A"), "");
  // And by another one's removal nobody else's.
  ASSERT_TRUE(Wait(manager().Remove(Otter(), true)).ok());
  EXPECT_EQ(runtime_.removed(), 2U);
  runtime_.Release(EngineCall::kEmptyRemoved);
  EXPECT_TRUE(Empties());
}

TEST_F(RemovalTest, FilesThatADeadAgentLeftGoAfterTheNextStart) {
  OutputOf(alice_, "otter", "echo old >file");
  runtime_.Hold(EngineCall::kEmptyRemoved);
  ASSERT_TRUE(Wait(manager().Remove(Otter(), true)).ok());
  Die();
  runtime_.Release(EngineCall::kEmptyRemoved);
  ASSERT_EQ(runtime_.removed(), 1U);
  Boot();
  EXPECT_TRUE(Empties());
  EXPECT_FALSE(manager().Get(Otter()).ok());
}

TEST_F(RemovalTest, FilesThatCouldNotBeDeletedGoWithTheNextCollectionOfGarbage) {
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kEmptyRemoved, 1));  // The start's.
  OutputOf(alice_, "otter", "echo old >file");
  runtime_.Fail(EngineCall::kEmptyRemoved, absl::UnavailableError("engine hangs"), 100);
  ASSERT_TRUE(Wait(manager().Remove(Otter(), true)).ok());
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kEmptyRemoved, 2));
  EXPECT_EQ(runtime_.removed(), 1U);
  runtime_.Heal();
  ASSERT_TRUE(Wait(manager().CollectGarbage(false)).ok());
  EXPECT_TRUE(Empties());
}

TEST_F(RemovalTest, NoFileIsSaidToBeThereThatGoesWithTheSandbox) {
  if (!HasFiles()) GTEST_SKIP() << "it takes root to map ids";
  OutputOf(alice_, "otter", "true");
  auto file = Write("file", "text");
  ASSERT_TRUE(file.ok()) << file.status();
  runtime_.Hold(EngineCall::kRemoveVolume);
  auto removed = Begin(manager().Remove(Otter(), true));
  ASSERT_TRUE(runtime_.WaitForCalls(EngineCall::kRemoveVolume, 1));

  EXPECT_EQ(Commit(*std::move(file)).code(), absl::StatusCode::kNotFound);

  runtime_.Release(EngineCall::kRemoveVolume);
  EXPECT_TRUE(Wait(std::move(removed)).ok());
  EXPECT_THAT(runtime_.volumes(), IsEmpty());
}

TEST_F(RemovalTest, ARemovalThatFailsTakesFilesAgain) {
  if (!HasFiles()) GTEST_SKIP() << "it takes root to map ids";
  OutputOf(alice_, "otter", "true");
  runtime_.Fail(EngineCall::kRemoveVolume, absl::UnavailableError("engine hangs"));
  EXPECT_FALSE(Wait(manager().Remove(Otter(), true)).ok());

  auto file = Write("file", "text");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(Commit(*std::move(file)).ok());
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "text");
}

TEST_F(RemovalTest, AStartThatFailsTakesNoFileWithItThatIsOnItsWay) {
  if (!HasFiles()) GTEST_SKIP() << "it takes root to map ids";
  auto file = Write("file", "text");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->new_sandbox);
  runtime_.RemoveBehind(runtime_.containers().at(0));
  ASSERT_TRUE(Becomes(Otter(), SandboxState::kAbsent));
  runtime_.Fail(EngineCall::kStart, absl::UnavailableError("engine hangs"));
  EXPECT_FALSE(Start(alice_, "otter", "true").ok());

  EXPECT_TRUE(Commit(*std::move(file)).ok());
  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "text");
  EXPECT_THAT(runtime_.volumes(), SizeIs(1));
}

}  // namespace
}  // namespace sandkeep
