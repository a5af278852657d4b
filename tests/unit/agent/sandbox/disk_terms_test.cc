// Who has to wait for room on the disk, and what they are told.

#include "agent/sandbox/disk_terms.h"

#include <gmock/gmock.h>

#include "agent/sandbox/disk_book.h"
#include "common/limits.h"
#include "common/random.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kGib = 1LL << 30;

constexpr DiskTerms kTerms = {.sandbox = 10 * kGib, .principal = 40 * kGib, .floor = 2 * kGib};
constexpr DiskStanding kFine = {
    .charged = kGib, .grown = kGib, .of_principal = kGib, .free = 100 * kGib};

TEST(DiskTermsTest, NobodyWaitsWhileThereIsRoom) {
  EXPECT_EQ(TooMuch(kFine, kTerms), "");
  EXPECT_TRUE(HasRoomAgain(kFine, kTerms));
  EXPECT_THAT(NearlyTooMuch(kFine, kTerms), IsEmpty());
}

TEST(DiskTermsTest, EachLimitHasItsOwnRemedy) {
  DiskStanding standing = kFine;
  standing.charged = 10 * kGib;
  EXPECT_THAT(TooMuch(standing, kTerms), HasSubstr("this sandbox has used up its 10.0 GiB"));
  standing = kFine;
  standing.of_principal = 41 * kGib;
  EXPECT_THAT(TooMuch(standing, kTerms), HasSubstr("your sandboxes together have used up"));
  standing = kFine;
  standing.free = kGib;
  EXPECT_THAT(TooMuch(standing, kTerms), HasSubstr("this host's disk is nearly full (1.0 GiB"));
}

// Who makes room in a full sandbox must not be stopped at it.
TEST(DiskTermsTest, WhatDoesNotGrowDoesNotWait) {
  DiskStanding standing = kFine;
  standing.charged = 11 * kGib;
  standing.grown = kLeastGrowth - 1;
  EXPECT_EQ(TooMuch(standing, kTerms), "");
  standing.grown = -kGib;
  EXPECT_EQ(TooMuch(standing, kTerms), "");
  EXPECT_FALSE(HasRoomAgain(standing, kTerms));
}

TEST(DiskTermsTest, GoesOnOnlyWithRoomToSpare) {
  DiskStanding standing = kFine;
  standing.charged = 10 * kGib - 1;
  EXPECT_FALSE(HasRoomAgain(standing, kTerms));
  standing.charged = 9 * kGib;
  EXPECT_TRUE(HasRoomAgain(standing, kTerms));
  standing.free = 2 * kGib;
  EXPECT_FALSE(HasRoomAgain(standing, kTerms));
}

// Else a dip of the host's disk would hold up for ever who is near a limit of its own.
TEST(DiskTermsTest, OnlyWhatWasUsedUpIsWaitedFor) {
  DiskStanding standing = kFine;
  standing.charged = 10 * kGib - 1;
  standing.free = 0;
  const DiskTerms waits_for = UsedUp(standing, kTerms);
  EXPECT_EQ(waits_for.sandbox, 0);
  EXPECT_EQ(waits_for.floor, kTerms.floor);
  EXPECT_FALSE(HasRoomAgain(standing, waits_for));
  standing.free = 50 * kGib;
  EXPECT_FALSE(HasRoomAgain(standing, kTerms));
  EXPECT_TRUE(HasRoomAgain(standing, waits_for));
}

TEST(DiskTermsTest, ZeroIsNoLimit) {
  const DiskStanding standing = {
      .charged = 1000 * kGib, .grown = kGib, .of_principal = 1000 * kGib, .free = 0};
  EXPECT_EQ(TooMuch(standing, DiskTerms{}), "");
  EXPECT_TRUE(HasRoomAgain(standing, DiskTerms{}));
  EXPECT_GT(RoomLeft(standing, DiskTerms{}), 1000 * kGib);
  EXPECT_THAT(NearlyTooMuch(standing, DiskTerms{}), IsEmpty());
}

TEST(DiskTermsTest, SaysSoFromFourFifthsOn) {
  DiskStanding standing = kFine;
  standing.charged = 8 * kGib;
  standing.of_principal = 32 * kGib - 1;
  EXPECT_THAT(NearlyTooMuch(standing, kTerms), SizeIs(1));
  standing.of_principal = 32 * kGib;
  EXPECT_THAT(NearlyTooMuch(standing, kTerms), SizeIs(2));
  EXPECT_FALSE(IsNearly(0, 50));
  EXPECT_TRUE(IsNearly(40, 50));
}

TEST(DiskTermsTest, EmptyFilesCountToo) {
  const DiskUse use = {.workspace = 1 << 20, .layer = 0, .names = 1'000'000};
  EXPECT_EQ(use.charged(), 1'000'000 * kBytesPerName);
  EXPECT_EQ((DiskUse{.workspace = 3 << 20, .layer = -1, .names = 5}).charged(), 3 << 20);
}

TEST(DiskBookTest, TellsEachSandboxOnceAnHour) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const SandboxKey key = *SandboxKey::Parse("otter-abcdefghijklmnop");
  const SandboxKey other = *SandboxKey::Parse("badger-abcdefghijklmnop");
  DiskBook book;
  EXPECT_TRUE(book.Tell(key, "disk", now));
  EXPECT_FALSE(book.Tell(key, "disk", now + absl::Minutes(59)));
  EXPECT_TRUE(book.Tell(key, "jobs", now));
  EXPECT_TRUE(book.Tell(other, "disk", now));
  EXPECT_TRUE(book.Tell(key, "disk", now + absl::Hours(1)));
  book.Forget(key);
  EXPECT_TRUE(book.Tell(key, "disk", now + absl::Hours(1)));
  EXPECT_FALSE(book.Tell(other, "disk", now));
}

}  // namespace
}  // namespace sandkeep
