// Somebody used `podman pause`: a command isn't left with an init that stands still.

#include <gtest/gtest.h>

#include <vector>

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
  const EngineName otter = runtime_.containers().at(0);
  OutputOf(alice_, "owl", "true");
  const std::vector<EngineName> both = runtime_.containers();
  const EngineName& owl = both.at(both.at(0) == otter ? 1 : 0);
  runtime_.PauseBehind(otter);

  // Its neighbour goes on by looks at all of them: between the first and the last of these lies one
  // that was whole.
  constexpr int kLooks = 3;
  const int thaws = runtime_.calls(EngineCall::kThaw);
  for (int i = 0; i < kLooks; ++i) {
    runtime_.PauseBehind(owl);
    OutputOf(alice_, "owl", "true");
  }
  EXPECT_EQ(runtime_.calls(EngineCall::kThaw), thaws + kLooks);
}

}  // namespace
}  // namespace sandkeep
