// Turns among parties: what one has in line keeps nobody else waiting.

#include "agent/imager/fair_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/await.h"

namespace sandkeep {
namespace {

using Turn = FairGate::Turn;

class FairGateTest : public testing::Test {
 protected:
  // Waits for a turn, and says so when it has one.
  std::future<absl::StatusOr<Turn>> Ask(const std::string& party) {
    return runner_.Begin(FairGate::Take(gate_, party));
  }
  static bool Waits(std::future<absl::StatusOr<Turn>>& asked) {
    return asked.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
  }

  AsyncRunner runner_;
  const std::shared_ptr<FairGate> gate_ = std::make_shared<FairGate>(2, 3);
};

TEST_F(FairGateTest, WhoWaitsForAFirstTurnComesBeforeASecondOne) {
  auto mallory = Ask("mallory");
  auto second = Ask("mallory");
  Turn first_turn = *mallory.get();
  Turn second_turn = *second.get();
  auto third = Ask("mallory");
  ASSERT_TRUE(Waits(third));
  auto ann = Ask("ann");
  ASSERT_TRUE(Waits(ann));
  first_turn.reset();
  EXPECT_TRUE(ann.get().ok()) << "its turn came back at once";
  second_turn.reset();
  EXPECT_TRUE(third.get().ok());
}

TEST_F(FairGateTest, ThoseWhoWaitComeRoundInTheirOrder) {
  Turn one = *Ask("ann").get();
  Turn two = *Ask("bob").get();
  std::vector<std::future<absl::StatusOr<Turn>>> waiting;
  for (const char* party : {"cid", "cid", "dan"}) {
    waiting.push_back(Ask(party));
    ASSERT_TRUE(Waits(waiting.back()));
  }
  one.reset();
  one = *waiting[0].get();
  two.reset();
  two = *waiting[2].get();
  EXPECT_TRUE(Waits(waiting[1])) << "dan had none";
  two.reset();
  EXPECT_TRUE(waiting[1].get().ok());
}

TEST_F(FairGateTest, ALineIsBoundedAndAnothersIsNot) {
  std::vector<Turn> turns = {*Ask("mallory").get(), *Ask("mallory").get()};
  std::vector<std::future<absl::StatusOr<Turn>>> line;
  for (int i = 0; i < 3; ++i) {
    line.push_back(Ask("mallory"));
    ASSERT_TRUE(Waits(line.back()));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Ask("mallory").get().status()));
  auto ann = Ask("ann");
  EXPECT_TRUE(Waits(ann));
  turns.clear();
  EXPECT_TRUE(ann.get().ok());
  for (auto& waiting : line) EXPECT_TRUE(waiting.get().ok());
}

}  // namespace
}  // namespace sandkeep
