// JOBS_DISK: who holds more than a share of the disk loses their own oldest output, nobody else's.

#include "common/strings.h"
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

// Its beginning and its end stay, and what lies between is a gap to the byte, for the next agent
// too.
TEST_F(OutputSharesTest, WhatRunsLosesItsMiddleWhereNothingElseIsLeftToLose) {
  Die();
  limits_.output_bytes = 4 << 20;
  Boot();
  constexpr int kPrinted = 24 << 20;
  auto started = Start(alice_, "amber-otter",
                       StrCat("echo first; head -c ", kPrinted,
                              " /dev/zero; echo; echo last; "
                              "exec sleep 1000"));
  ASSERT_TRUE(started.ok()) << started.status();
  const JobId id = started->job.id;
  started->watcher.reset();
  const auto kept = [&]() {
    std::string output;
    std::int64_t next = 0;
    std::int64_t gone = 0;
    auto watched = Wait(manager().WatchJob(RefOf(alice_, "amber-otter"), id, 0, false));
    EXPECT_TRUE(watched.ok()) << watched.status();
    for (;;) {
      const absl::StatusOr<JobEvent> event = Wait(watched->watcher->Next());
      EXPECT_TRUE(event.ok()) << event.status();
      if (!event.ok() || event->kind == JobEvent::Kind::kEndOfWhatThereIs) break;
      if (event->kind == JobEvent::Kind::kGap) {
        EXPECT_EQ(event->gap.from, next);
        next = event->gap.to;
        gone += event->gap.to - event->gap.from;
      }
      if (event->kind != JobEvent::Kind::kOutput) continue;
      EXPECT_EQ(event->output.offset, next);
      next += static_cast<std::int64_t>(event->output.data.size());
      output += event->output.data;
    }
    EXPECT_EQ(static_cast<std::int64_t>(output.size()) + gone, next);
    return output;
  };
  const auto ends_well = [](const std::string& output) {
    return output.size() > 6 && output.substr(output.size() - 6) == "\nlast\n";
  };
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  std::string output = kept();
  while ((!ends_well(output) || output.size() > (4 << 20)) &&
         std::chrono::steady_clock::now() < deadline) {
    output = kept();
  }
  EXPECT_LE(output.size(), std::size_t{4 << 20});
  EXPECT_EQ(output.substr(0, 6), "first\n");
  EXPECT_TRUE(ends_well(output));
  Die();
  Boot();
  EXPECT_EQ(kept(), output);
}

}  // namespace
}  // namespace sandkeep
