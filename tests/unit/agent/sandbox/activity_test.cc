// Who may be frozen, and when: a wrong answer here ends somebody's work.

#include "agent/sandbox/activity.h"

#include <gtest/gtest.h>

#include "agent/sandbox/host.h"
#include "common/limits.h"
#include "tests/fakes/fake_clock.h"

namespace sandkeep {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr absl::Duration kBackground = absl::Hours(12);
const Clock::Monotonic kStart = Clock::Monotonic(hours(1000));

TEST(ActivityTest, NothingAtAllIsIdleSinceTheLastCallOrTransfer) {
  Activity activity;
  activity.last_call = kStart;
  activity.last_hold = kStart + seconds(5);
  EXPECT_EQ(IdleSince(activity, kBackground, kStart + hours(1)), kStart + seconds(5));
  EXPECT_FALSE(IsBusy(activity));
}

TEST(ActivityTest, ProcessesLeftBehindPostponeIdlenessAndWithoutALimitForEver) {
  Activity activity;
  activity.left_behind = 1;
  activity.left_since = kStart;
  EXPECT_FALSE(IdleSince(activity, kBackground, kStart + hours(12) - seconds(1)));
  EXPECT_EQ(IdleSince(activity, kBackground, kStart + hours(13)), kStart + hours(12));
  EXPECT_FALSE(IdleSince(activity, absl::InfiniteDuration(), kStart + hours(24 * 3650)));
  EXPECT_TRUE(Yields(activity, kStart)) << "it may be frozen to make room";
  EXPECT_FALSE(MayBeEnded(activity, kBackground, kStart)) << "and not ended";
}

TEST(ActivityTest, ARunningCommandYieldsOnlyWhenNobodyHasWaitedForLong) {
  Activity activity;
  activity.running_jobs = 1;
  activity.last_call = kStart;
  activity.last_hold = kStart + seconds(100);
  const Clock::Monotonic handed_back = activity.last_hold + kHandedBackHold;
  EXPECT_FALSE(Yields(activity, handed_back - seconds(1)));
  EXPECT_TRUE(Yields(activity, handed_back));
  activity.holds = 1;
  EXPECT_FALSE(Yields(activity, handed_back + hours(100)));
  EXPECT_FALSE(IdleSince(activity, kBackground, handed_back + hours(100)));
}

TEST(ActivityTest, AHoldCountsUntilItsLastCopyIsGone) {
  FakeClock clock;
  const auto count = std::make_shared<HoldCount>(clock);
  std::shared_ptr<void> hold = MakeHold(count);
  const std::shared_ptr<void> copy = hold;
  hold.reset();
  EXPECT_EQ(count->count(), 1);
  clock.Advance(absl::Seconds(9));
  const Clock::Monotonic now = clock.Steady();
  std::shared_ptr<void> second = MakeHold(count);
  EXPECT_EQ(count->count(), 2);
  second.reset();
  EXPECT_EQ(count->count(), 1);
  EXPECT_EQ(count->now().last, now);
}

TEST(HostTest, PressureIsTheShareInWhichEverybodyWaits) {
  EXPECT_EQ(MemoryPressure("some avg10=99.00 avg60=1.00 avg300=0.00 total=1\n"
                           "full avg10=37.91 avg60=0.00 avg300=0.00 total=1\n"),
            37);
  EXPECT_EQ(MemoryPressure(""), 0);
  EXPECT_EQ(MemoryPressure("full avg10="), 0);
  EXPECT_LE(MemoryPressure("full avg10=99999999999999999999"), 10009);
}

}  // namespace
}  // namespace sandkeep
