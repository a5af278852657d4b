// Two who write at once are not both given the last of the disk.

#include "agent/sandbox/disk_room.h"

#include <gtest/gtest.h>

#include "agent/sandbox/host.h"

namespace sandkeep {
namespace {

TEST(DiskRoomTest, WhatIsPromisedToOneIsNotPromisedToAnother) {
  const std::string folder = testing::TempDir();
  const std::int64_t most = *DiskFreeBytes(folder) / 5 * 3;
  const DiskRoom room(folder, 0);
  absl::StatusOr<DiskRoom::Claim> first = room.Take(most);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(*first, nullptr);
  EXPECT_EQ(*room.Take(most), nullptr);
  EXPECT_NE(*room.Take(1), nullptr) << "there is room for a small one";
  first->reset();
  EXPECT_NE(*room.Take(most), nullptr);
}

TEST(DiskRoomTest, TheFloorStaysFree) {
  const std::string folder = testing::TempDir();
  const std::int64_t free = *DiskFreeBytes(folder);
  EXPECT_EQ(*DiskRoom(folder, 2 * free).Take(1), nullptr);
  EXPECT_NE(*DiskRoom(folder, free / 2).Take(free / 4), nullptr);
  EXPECT_EQ(*DiskRoom(folder, free / 2).Take(free), nullptr);
  EXPECT_FALSE(DiskRoom("/nonexistent", 0).Take(1).ok());
}

TEST(DiskRoomTest, AClaimMayOutliveWhoGaveIt) {
  DiskRoom::Claim claim = *DiskRoom(testing::TempDir(), 0).Take(1);
  EXPECT_NE(claim, nullptr);
  claim.reset();
}

}  // namespace
}  // namespace sandkeep
