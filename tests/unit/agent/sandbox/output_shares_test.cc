// JOBS_DISK: who holds more than a share of the disk loses their own oldest output, nobody else's.

#include "tests/fakes/patience.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

class OutputSharesTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped()) return;
    Die();
    limits_.output_bytes = 100'000;
    limits_.output_interval = absl::Milliseconds(5);
    Boot();
  }

  JobId Print(const PrincipalId& principal, std::string label, int bytes) {
    const auto result = Run(principal, std::move(label), StrCat("head -c ", bytes, " /dev/zero"));
    EXPECT_TRUE(result.ok()) << result.status();
    return result->started.job.id;
  }

  bool Has(const PrincipalId& principal, std::string label, const JobId& id) {
    const auto jobs = Wait(manager().ListJobs(RefOf(principal, std::move(label)), 100));
    return std::any_of(jobs->begin(), jobs->end(),
                       [&](const JobSnapshot& job) { return job.id == id; });
  }

  bool Loses(const PrincipalId& principal, const std::string& label, const JobId& id) {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (!Has(principal, label, id)) return true;
    }
    return false;
  }
};

TEST_F(OutputSharesTest, TheOldestOfWhoHoldsTooMuchGoesAndOfNobodyElse) {
  const JobId bobs = Print(bob_, "blue-heron", 20'000);
  const JobId first = Print(alice_, "amber-otter", 45'000);
  const JobId second = Print(alice_, "red-fox", 30'000);
  EXPECT_TRUE(Has(alice_, "amber-otter", first));
  const JobId third = Print(alice_, "red-fox", 30'000);
  EXPECT_TRUE(Loses(alice_, "amber-otter", first));
  EXPECT_TRUE(Has(alice_, "red-fox", second));
  EXPECT_TRUE(Has(alice_, "red-fox", third));
  EXPECT_TRUE(Has(bob_, "blue-heron", bobs));
}

TEST_F(OutputSharesTest, WhatRunsKeepsItsOutput) {
  const auto started =
      Start(alice_, "amber-otter", "head -c 150000 /dev/zero; echo; echo on; exec sleep 1000");
  ASSERT_TRUE(started.ok()) << started.status();
  ReadUntil(*started->watcher, "on\n");
  const JobId ended = Print(alice_, "red-fox", 10'000);
  EXPECT_TRUE(Loses(alice_, "red-fox", ended));
  EXPECT_TRUE(Has(alice_, "amber-otter", started->job.id));
}

}  // namespace
}  // namespace sandkeep
