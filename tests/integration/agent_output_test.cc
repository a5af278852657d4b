// ReadOutput: at once where nothing can change any more, and by a watcher where something may.

#include <gtest/gtest.h>

#include "sandkeep/agent/v1/agent.pb.h"
#include "tests/integration/agent_harness.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

v1::ReadOutputRequest SomeOutput(std::int64_t offset) {
  auto request = Named<v1::ReadOutputRequest>();
  request.set_job_id("jjjjjjjjjjjjjjjj");
  request.set_offset(offset);
  return request;
}

// It has printed five bytes, which aren't in memory.
SettledJob SomeSettledJob() {
  SettledJob settled{.job = SomeJob(), .streams = {{.path = "/nowhere", .size = 5}}};
  settled.job.state = JobState::kEnded;
  settled.job.output_bytes = 5;
  return settled;
}

TEST(AgentOutputTest, WhatCanChangeNoMoreIsReadWithoutAWatcher) {
  AgentHarness agent;
  agent.manager.find_settled_job = [](const SandboxRef&, const JobId&) { return SomeSettledJob(); };
  const auto at_end = agent.Run(agent.client->ReadOutput(SomeOutput(5)));
  ASSERT_TRUE(at_end.ok()) << at_end.status();
  EXPECT_EQ(at_end->job().state(), v1::Job::ENDED);
  EXPECT_EQ(at_end->offset(), 5);
  EXPECT_EQ(at_end->data(), "");
  EXPECT_EQ(agent.manager.calls, 0);
}

TEST(AgentOutputTest, WhatIsntInMemoryOrPastTheEndIsLeftToAWatcher) {
  AgentHarness agent;
  agent.manager.find_settled_job = [](const SandboxRef&, const JobId&) { return SomeSettledJob(); };
  agent.manager.watch_job = [](SandboxRef, std::optional<JobId>, std::int64_t offset,
                               bool follow) -> Async<WatchedJob> {
    EXPECT_FALSE(follow);
    if (offset > 5) co_return absl::OutOfRangeError("past the end");
    co_return WatchedJob{.job = SomeJob(), .watcher = WatcherOf({OutputEvent(0, "hello")})};
  };
  const auto whole = agent.Run(agent.client->ReadOutput(SomeOutput(0)));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->data(), "hello");
  const auto past = agent.Run(agent.client->ReadOutput(SomeOutput(6)));
  EXPECT_TRUE(absl::IsOutOfRange(past.status())) << past.status();
}

TEST(AgentOutputTest, AForeignPrincipalsSettledJobIsRefusedBeforeItIsLookedFor) {
  AgentHarness agent({.uid = ::geteuid(), .frontend = true, .operate = false, .prefix = "stdio"});
  bool asked = false;
  agent.manager.find_settled_job = [&](const SandboxRef&, const JobId&) {
    asked = true;
    return SomeSettledJob();
  };
  const auto foreign = agent.Run(agent.client->ReadOutput(SomeOutput(5)));
  EXPECT_TRUE(absl::IsPermissionDenied(foreign.status())) << foreign.status();
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace sandkeep
