#include "agent/service/call_rate.h"

#include <gtest/gtest.h>

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr CallRate::TimePoint kStart{seconds(1000)};

int AllowedOf(CallRate& rate, const Rpc& rpc, int calls, CallRate::TimePoint now) {
  int allowed = 0;
  for (int i = 0; i < calls; ++i) allowed += rate.Allows(rpc, now) ? 1 : 0;
  return allowed;
}

TEST(CallRateTest, WhoCallsMoreOftenThanTheTableSaysIsRefusedTheRest) {
  CallRate rate(kStart);
  const Rpc& rpc = RpcOf("CollectGarbage");
  EXPECT_EQ(AllowedOf(rate, rpc, 3 * rpc.per_second, kStart), rpc.per_second);
  // Half of it is back after half a second, and never more than one second's.
  EXPECT_EQ(AllowedOf(rate, rpc, rpc.per_second, kStart + milliseconds(500)), rpc.per_second / 2);
  EXPECT_EQ(AllowedOf(rate, rpc, 3 * rpc.per_second, kStart + seconds(60)), rpc.per_second);
}

TEST(CallRateTest, OneMethodCostsNoOtherItsCalls) {
  CallRate rate(kStart);
  const Rpc& rare = RpcOf("GetMetrics");
  EXPECT_LT(AllowedOf(rate, rare, 1000, kStart), 1000);
  for (const Rpc& rpc : kRpcTable) {
    EXPECT_EQ(rate.Allows(rpc, kStart), &rpc != &rare) << rpc.name;
  }
}

}  // namespace
}  // namespace sandkeep
