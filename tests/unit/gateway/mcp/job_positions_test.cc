#include "gateway/mcp/job_positions.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/strings.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep::mcp {
namespace {

class JobPositionsTest : public testing::Test {
 protected:
  std::optional<std::int64_t> OffsetOf(const PrincipalId& principal, const JobId& job) {
    const auto found = positions_.Find(principal, job);
    return found ? std::optional(found->offset) : std::nullopt;
  }
  JobId NewJob() { return JobId::Random(random_); }

  const PrincipalId ann_ = *PrincipalId::Parse("key-ann");
  const PrincipalId bob_ = *PrincipalId::Parse("key-bob");
  FakeRandom random_;
  JobPositions positions_;
};

TEST_F(JobPositionsTest, TheLastOneCounts) {
  const JobId job = NewJob();
  EXPECT_EQ(OffsetOf(ann_, job), std::nullopt);
  positions_.Set(ann_, job, {.offset = 5, .ends = {}});
  positions_.Set(ann_, job, {.offset = 9, .ends = {}});
  EXPECT_EQ(OffsetOf(ann_, job), 9);
}

TEST_F(JobPositionsTest, NobodySeesAnothers) {
  const JobId job = NewJob();
  positions_.Set(ann_, job, {.offset = 5, .ends = {}});
  EXPECT_EQ(OffsetOf(bob_, job), std::nullopt);
}

TEST_F(JobPositionsTest, ManyOfOnePushOutTheirOwnLeastUsedOnly) {
  const JobId bobs = NewJob();
  const JobId first = NewJob();
  const JobId second = NewJob();
  positions_.Set(bob_, bobs, {.offset = 1, .ends = {}});
  positions_.Set(ann_, first, {.offset = 1, .ends = {}});
  positions_.Set(ann_, second, {.offset = 1, .ends = {}});
  for (std::size_t i = 2; i < kMaxRememberedJobsEach; ++i) {
    positions_.Set(ann_, NewJob(), {.offset = 1, .ends = {}});
  }
  positions_.Set(ann_, first, {.offset = 2, .ends = {}});
  positions_.Set(ann_, NewJob(), {.offset = 1, .ends = {}});
  EXPECT_EQ(OffsetOf(ann_, second), std::nullopt);
  EXPECT_EQ(OffsetOf(ann_, first), 2);
  EXPECT_EQ(OffsetOf(bob_, bobs), 1);
}

TEST_F(JobPositionsTest, AllTogetherAreBounded) {
  const JobId first = NewJob();
  positions_.Set(ann_, first, {.offset = 1, .ends = {}});
  for (std::size_t i = 0; i < kMaxRememberedJobs; ++i) {
    const std::string name = StrCat("key-", i / kMaxRememberedJobsEach);
    positions_.Set(*PrincipalId::Parse(name), NewJob(), {.offset = 1, .ends = {}});
  }
  EXPECT_EQ(OffsetOf(ann_, first), std::nullopt);
}

}  // namespace
}  // namespace sandkeep::mcp
