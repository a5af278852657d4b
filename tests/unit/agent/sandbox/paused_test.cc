// Somebody used `podman pause`: a command isn't left with an init that stands still.

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

// Where the kernel freezes, somebody else can have it do so.
class PausedTest : public AgentTest {
 protected:
  PausedTest() { limits_.life_interval = absl::Milliseconds(2); }
};

TEST_F(PausedTest, OneThatSomebodyPausedByHandGoesOnForTheNextCall) {
  OutputOf(alice_, "otter", "echo kept >file");
  runtime_.PauseBehind(runtime_.containers().at(0));

  EXPECT_EQ(OutputOf(alice_, "otter", "cat file"), "kept\n");
  EXPECT_EQ(runtime_.calls(EngineCall::kStart), 1);
}

TEST_F(PausedTest, OneThatSomebodyPausedByHandStaysSoWhileNobodyWaits) {
  OutputOf(alice_, "otter", "true");
  runtime_.PauseBehind(runtime_.containers().at(0));
  const int thaws = runtime_.calls(EngineCall::kThaw);
  std::this_thread::sleep_for(20 * absl::ToChronoMilliseconds(limits_.life_interval));
  EXPECT_EQ(runtime_.calls(EngineCall::kThaw), thaws);
}

}  // namespace
}  // namespace sandkeep
